package rerank.lucene;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.MultiBits;
import org.apache.lucene.index.MultiTerms;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.util.Bits;
import org.apache.lucene.util.BytesRef;

/**
 * All postings of an index, written to files in one pass: term by term, terms in byte order.
 *
 * <p>The files are bare little-endian int32 (bytes for the first two): vocabulary, doc_ids; term_lengths,
 * doc_id_lengths; and for field number f: f.doc_freq (one a term), f.docs and f.freqs (one a posting),
 * f.positions (one a token, where they are indexed). Postings of deleted documents are left out.
 */
final class Exporting implements Closeable {
  private static final List<String> COUNTED = List.of("doc_freq", "docs", "freqs");
  private static final List<String> POSITIONED = List.of("doc_freq", "docs", "freqs", "positions");

  private final String folder;
  private final Bits live;
  private final List<TermsEnum> terms = new ArrayList<>();
  private final List<BytesRef> heads = new ArrayList<>(); // the term at which each field stands
  private final List<List<DataOutputStream>> outputs = new ArrayList<>();
  private final ArrayNode report;

  private Exporting(IndexReader reader, String folder, ArrayNode report) throws IOException {
    this.folder = folder;
    this.live = MultiBits.getLiveDocs(reader);
    this.report = report;
    for (String field : Bridge.textFields(reader)) {
      addField(field, MultiTerms.getTerms(reader, field));
    }
  }

  /** Writes the files; answers with the number of documents and terms, and the fields in order. */
  static ObjectNode export(IndexReader reader, String folder) throws Exception {
    ObjectNode report = Bridge.JSON.createObjectNode();
    report.put("documents", reader.maxDoc());
    writeIds(folder, Bridge.readIds(reader));
    Numbers.write(reader, folder, report.putArray("numbers"));
    try (Exporting export = new Exporting(reader, folder, report.putArray("fields"))) {
      return report.put("terms", export.writeTerms());
    }
  }

  private static void writeIds(String folder, byte[][] ids) throws IOException {
    try (DataOutputStream bytes = stream(folder, "doc_ids");
        DataOutputStream lengths = stream(folder, "doc_id_lengths")) {
      for (byte[] id : ids) {
        bytes.write(id);
        writeInt(lengths, id.length);
      }
    }
  }

  private void addField(String field, Terms all) throws IOException {
    boolean positions = all != null && all.hasPositions();
    List<DataOutputStream> files = new ArrayList<>();
    for (String name : positions ? POSITIONED : COUNTED) {
      files.add(stream(folder, outputs.size() + "." + name));
    }
    report.addObject().put("name", field).put("positions", positions);
    outputs.add(files);
    terms.add(all == null ? TermsEnum.EMPTY : all.iterator());
    heads.add(terms.get(terms.size() - 1).next());
  }

  private int writeTerms() throws Exception {
    int number = 0;
    try (DataOutputStream vocabulary = stream(folder, "vocabulary");
        DataOutputStream lengths = stream(folder, "term_lengths")) {
      for (BytesRef term = leastHead(); term != null; term = leastHead()) {
        if (Thread.interrupted()) {
          throw new InterruptedException();
        }
        if (writeTerm(term)) {
          vocabulary.write(term.bytes, term.offset, term.length);
          writeInt(lengths, term.length);
          number = Math.addExact(number, 1);
        }
      }
    }
    return number;
  }

  private BytesRef leastHead() {
    BytesRef least = null;
    for (BytesRef head : heads) {
      if (head != null && (least == null || head.compareTo(least) < 0)) {
        least = head;
      }
    }
    return least == null ? null : BytesRef.deepCopyOf(least);
  }

  /** Writes the postings of a term in every field; false, and nothing written, where no live document has it. */
  private boolean writeTerm(BytesRef term) throws IOException {
    int[] docFreqs = new int[terms.size()];
    boolean any = false;
    for (int f = 0; f < docFreqs.length; f++) {
      if (heads.get(f) != null && heads.get(f).bytesEquals(term)) {
        docFreqs[f] = writePostings(terms.get(f), outputs.get(f));
        heads.set(f, terms.get(f).next());
        any |= docFreqs[f] > 0;
      }
    }
    for (int f = 0; any && f < docFreqs.length; f++) {
      writeInt(outputs.get(f).get(0), docFreqs[f]);
    }
    return any;
  }

  private int writePostings(TermsEnum term, List<DataOutputStream> output) throws IOException {
    boolean positions = output.size() == POSITIONED.size();
    PostingsEnum postings = term.postings(null, positions ? PostingsEnum.POSITIONS : PostingsEnum.FREQS);
    int docFreq = 0;
    for (int doc = postings.nextDoc(); doc != PostingsEnum.NO_MORE_DOCS; doc = postings.nextDoc()) {
      if (live != null && !live.get(doc)) {
        continue;
      }
      int freq = postings.freq();
      docFreq++;
      writeInt(output.get(1), doc);
      writeInt(output.get(2), freq);
      for (int i = 0; positions && i < freq; i++) {
        writeInt(output.get(3), postings.nextPosition());
      }
    }
    return docFreq;
  }

  @Override
  public void close() throws IOException {
    for (List<DataOutputStream> files : outputs) {
      for (DataOutputStream file : files) {
        file.close();
      }
    }
  }

  static DataOutputStream stream(String folder, String name) throws IOException {
    FileOutputStream file = new FileOutputStream(Path.of(folder, name).toFile());
    return new DataOutputStream(new BufferedOutputStream(file, 1 << 20));
  }

  private static void writeInt(DataOutputStream out, int value) throws IOException {
    out.writeInt(Integer.reverseBytes(value));
  }
}
