package rerank.lucene;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.anserini.analysis.AnalyzerMap;
import io.anserini.analysis.AnalyzerUtils;
import io.anserini.index.IndexCollection;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.th.ThaiTokenizer;
import org.apache.lucene.index.BinaryDocValues;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.FieldInfo;
import org.apache.lucene.index.FieldInfos;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.MultiReader;
import org.apache.lucene.index.ReaderUtil;
import org.apache.lucene.index.StoredFields;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.Bits;
import org.apache.lucene.util.BytesRef;

/**
 * What Python asks of Lucene and Anserini: a request in, an answer out, each in one crossing.
 *
 * <p>A request is JSON in UTF-8 (so that no text passes through JNI's modified UTF-8, which breaks
 * characters beyond the basic plane); an answer is bytes: a status of 8 bytes (0 done, 1 failed), then
 * JSON or little-endian arrays. Long work is done on a daemon thread, so that Python's main thread can
 * wait in short steps and hear Ctrl-C; interrupting the thread ends the work.
 *
 * <p>Only what Lucene 9.9 and 10.4 have in common is used: the same class files run with both. They are
 * made by scripts/compile_bridge.
 */
public final class Bridge {
  static final ObjectMapper JSON = new ObjectMapper();
  static final int HEADER = 8;
  static final String ID = "id";
  static final String RAW = "raw";
  static final String LANGUAGE = "rerank.language"; // in the user data of a commit
  static final String FIELDS = "rerank.fields"; // there too: the fields that the build was told, as JSON; or absent
  static final String SHARD = "rerank.shard"; // there too: the build of a shard and its number of shards, as JSON; or absent
  private static final String ENGLISH = "en";
  private static final Map<String, Analyzer> ANALYZERS = new ConcurrentHashMap<>();
  private static final Map<Thread, byte[]> ANSWERS = new ConcurrentHashMap<>();
  private static final Map<Integer, IndexReader> READERS = new ConcurrentHashMap<>();
  private static final AtomicInteger LAST_HANDLE = new AtomicInteger();

  private Bridge() {}

  /** Starts the work on a request; the thread ends when its answer is there. */
  public static Thread start(ByteBuffer request) {
    byte[] text = new byte[request.remaining()];
    request.get(text);
    Thread thread = new Thread(() -> ANSWERS.put(Thread.currentThread(), answer(text)), "rerank");
    thread.setDaemon(true);
    thread.setContextClassLoader(Bridge.class.getClassLoader());
    thread.start();
    return thread;
  }

  /** Does the work on the calling thread: for what takes a moment, since starting a thread takes longer. */
  public static byte[] answerNow(ByteBuffer request) {
    byte[] text = new byte[request.remaining()];
    request.get(text);
    return answer(text);
  }

  /** Hands out the answer of a thread that has ended, once. */
  public static byte[] answer(Thread thread) {
    return ANSWERS.remove(thread);
  }

  private static byte[] answer(byte[] request) {
    JsonNode question = null;
    try {
      question = JSON.readTree(request);
      return work(question);
    } catch (Throwable failure) {
      Throwable damage = damage(question);
      return failed(damage == null ? failure : damage);
    }
  }

  /** What is damaged in the index that a failed request was about: compares all checksums of its files. */
  private static Throwable damage(JsonNode question) {
    IndexReader reader = question == null ? null : READERS.get(question.path("handle").asInt());
    try {
      for (LeafReaderContext context : reader == null ? List.<LeafReaderContext>of() : reader.leaves()) {
        context.reader().checkIntegrity();
      }
      return null;
    } catch (Throwable failure) {
      return failure;
    }
  }

  private static byte[] failed(Throwable failure) {
    ObjectNode report = JSON.createObjectNode();
    report.put("class", failure.getClass().getName());
    report.put("message", String.valueOf(failure.getMessage()));
    try {
      byte[] answer = json(report);
      answer[0] = 1;
      return answer;
    } catch (IOException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static byte[] json(Object body) throws IOException {
    byte[] text = JSON.writeValueAsBytes(body);
    byte[] answer = new byte[HEADER + text.length];
    System.arraycopy(text, 0, answer, HEADER, text.length);
    return answer;
  }

  private static byte[] work(JsonNode request) throws Exception {
    switch (request.get("op").asText()) {
      case "index":
        return json(Indexing.index(request));
      case "indexed":
        return json(Indexing.indexed());
      case "open":
        return json(open(request.get("path").asText()));
      case "join":
        return json(join(request.get("handles")));
      case "close":
        return json(close(request.get("handle").asInt()));
      case "statistics":
        return json(statistics(reader(request)));
      case "analyze":
        return json(analyze(request.get("texts"), analyzer(request.path("language").asText(ENGLISH))));
      case "analyze_texts":
        return Analysing.analyze(request);
      case "offsets":
        return json(Analysing.offsets(request));
      case "wordwise":
        return json(Analysing.wordwise(request.get("language").asText()));
      case "languages":
        return json(languages());
      case "raw":
        return json(raw(reader(request), request.get("documents")));
      case "doc_ids":
        return packedIds(readIds(reader(request)));
      case "ids":
        return packedIds(ids(reader(request), request.get("documents")));
      case "search":
        return Searching.search(reader(request), request);
      case "export":
        return json(Exporting.export(reader(request), request.get("folder").asText()));
      default:
        throw new IllegalArgumentException("unknown request " + request.get("op"));
    }
  }

  private static ObjectNode open(String folder) throws IOException {
    DirectoryReader reader = DirectoryReader.open(FSDirectory.open(Path.of(folder)));
    int handle = LAST_HANDLE.incrementAndGet();
    READERS.put(handle, reader);
    Map<String, String> noted = reader.getIndexCommit().getUserData();
    ObjectNode report = JSON.createObjectNode().put("handle", handle).put("documents", reader.maxDoc());
    report.put("language", noted.get(LANGUAGE)).put("fields", noted.get(FIELDS)).put("shard", noted.get(SHARD));
    return report;
  }

  /** Makes one reader of those of several shards, whose handles are given up. */
  private static ObjectNode join(JsonNode handles) throws IOException {
    List<IndexReader> shards = new ArrayList<>();
    handles.forEach(shard -> shards.add(READERS.get(shard.asInt())));
    MultiReader reader = new MultiReader(shards.toArray(new IndexReader[0]), true);
    textFields(reader); // refuses fields that are indexed otherwise in one shard than in another
    handles.forEach(shard -> READERS.remove(shard.asInt()));
    int handle = LAST_HANDLE.incrementAndGet();
    READERS.put(handle, reader);
    return JSON.createObjectNode().put("handle", handle);
  }

  private static ObjectNode close(int handle) throws IOException {
    IndexReader reader = READERS.remove(handle);
    if (reader != null) {
      reader.close();
    }
    return JSON.createObjectNode();
  }

  private static IndexReader reader(JsonNode request) {
    IndexReader reader = READERS.get(request.get("handle").asInt());
    if (reader == null) {
      throw new IllegalStateException("the index is closed");
    }
    return reader;
  }

  private static ObjectNode statistics(IndexReader reader) throws IOException {
    ObjectNode report = JSON.createObjectNode();
    report.put("documents", reader.numDocs());
    report.put("deleted", reader.numDeletedDocs());
    report.put("segments", reader.leaves().size());
    ObjectNode fields = report.putObject("fields");
    for (String field : textFields(reader)) {
      ObjectNode entry = fields.putObject(field);
      entry.put("documents", reader.getDocCount(field));
      entry.put("tokens", reader.getSumTotalTermFreq(field));
      entry.put("postings", reader.getSumDocFreq(field));
    }
    return report;
  }

  /** Fields that count their terms, by name: the id (and whatever else is one term a document) is none. */
  static List<String> textFields(IndexReader reader) {
    return textFieldInfos(reader).stream().map(info -> info.name).sorted().toList();
  }

  private static List<FieldInfo> textFieldInfos(IndexReader reader) {
    List<FieldInfo> infos = new ArrayList<>();
    for (FieldInfo info : FieldInfos.getMergedFieldInfos(reader)) {
      if (info.getIndexOptions().compareTo(IndexOptions.DOCS_AND_FREQS) >= 0 && !info.name.equals(ID)) {
        infos.add(info);
      }
    }
    return infos;
  }

  /** Codes of the languages that Anserini has an analyzer for, Thai only where this Java can cut it into words. */
  private static Set<String> languages() {
    Set<String> codes = new TreeSet<>(AnalyzerMap.analyzerMap.keySet());
    codes.add(ENGLISH);
    if (!ThaiTokenizer.DBBI_AVAILABLE) {
      codes.remove("th");
    }
    return codes;
  }

  /** The analyzer that Anserini's -language picks. */
  static Analyzer analyzer(String language) {
    if (language.equals(ENGLISH)) {
      return IndexCollection.DEFAULT_ANALYZER;
    }
    return ANALYZERS.computeIfAbsent(language, AnalyzerMap::getLanguageSpecificAnalyzer);
  }

  static ArrayNode analyze(JsonNode texts, Analyzer analyzer) {
    ArrayNode all = JSON.createArrayNode();
    for (JsonNode text : texts) {
      ArrayNode tokens = all.addArray();
      AnalyzerUtils.analyze(analyzer, text.asText()).forEach(tokens::add);
    }
    return all;
  }

  /** The documents as they were given, by number; null where the index does not store them. */
  private static ArrayNode raw(IndexReader reader, JsonNode documents) throws IOException {
    StoredFields stored = reader.storedFields();
    ArrayNode all = JSON.createArrayNode();
    for (JsonNode number : documents) {
      all.add(stored.document(number.asInt(), Set.of(RAW)).get(RAW));
    }
    return all;
  }

  /** Ids by document number; a deleted document has the empty id. */
  static byte[][] readIds(IndexReader reader) throws IOException {
    byte[][] ids = new byte[reader.maxDoc()][];
    Arrays.fill(ids, new byte[0]);
    for (LeafReaderContext context : reader.leaves()) {
      LeafReader leaf = context.reader();
      Bits live = leaf.getLiveDocs();
      BinaryDocValues values = leaf.getBinaryDocValues(ID);
      for (int doc = 0; doc < leaf.maxDoc(); doc++) {
        if (live == null || live.get(doc)) {
          ids[context.docBase + doc] = id(leaf, values, doc);
        }
      }
    }
    return ids;
  }

  /** Ids of documents by number, which ascend. */
  private static byte[][] ids(IndexReader reader, JsonNode documents) throws IOException {
    byte[][] ids = new byte[documents.size()][];
    LeafReaderContext context = null;
    BinaryDocValues values = null;
    for (int i = 0; i < ids.length; i++) {
      int doc = documents.get(i).asInt();
      if (context == null || doc >= context.docBase + context.reader().maxDoc()) {
        context = reader.leaves().get(ReaderUtil.subIndex(doc, reader.leaves()));
        values = context.reader().getBinaryDocValues(ID);
      }
      ids[i] = id(context.reader(), values, doc - context.docBase);
    }
    return ids;
  }

  private static byte[] id(LeafReader leaf, BinaryDocValues values, int doc) throws IOException {
    return values != null && values.advanceExact(doc)
        ? BytesRef.deepCopyOf(values.binaryValue()).bytes
        : storedId(leaf, doc);
  }

  private static byte[] storedId(LeafReader leaf, int doc) throws IOException {
    String id = leaf.storedFields().document(doc, Set.of(ID)).get(ID);
    if (id == null) {
      throw new IllegalStateException("document " + doc + " has no field 'id'; Anserini did not build this index");
    }
    return id.getBytes(StandardCharsets.UTF_8);
  }

  /** The number of ids, the length of each, then all of them, one after the other. */
  private static byte[] packedIds(byte[][] ids) {
    int total = HEADER + 4 + 4 * ids.length;
    for (byte[] id : ids) {
      total = Math.addExact(total, id.length);
    }
    ByteBuffer out = ByteBuffer.allocate(total).order(ByteOrder.LITTLE_ENDIAN).position(HEADER);
    out.putInt(ids.length);
    for (byte[] id : ids) {
      out.putInt(id.length);
    }
    for (byte[] id : ids) {
      out.put(id);
    }
    return out.array();
  }

  static String[] strings(JsonNode list) {
    List<String> texts = new ArrayList<>();
    list.forEach(text -> texts.add(text.asText()));
    return texts.toArray(new String[0]);
  }
}
