package rerank.lucene;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import org.apache.lucene.index.BinaryDocValues;
import org.apache.lucene.index.DocValues;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.ReaderUtil;
import org.apache.lucene.search.BulkScorer;
import org.apache.lucene.search.CollectorManager;
import org.apache.lucene.search.DocIdSetIterator;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.LeafCollector;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.Scorable;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.ScoreMode;
import org.apache.lucene.search.SimpleCollector;
import org.apache.lucene.search.Weight;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.LongHeap;

/**
 * The k best documents by score, then id, where Lucene's own collectors would read the id of every candidate.
 *
 * <p>Documents are collected by score alone, together with all that tie with the worst of them; only then are
 * the ids read of documents that tie. Lucene skips blocks of documents that score below the worst.
 */
final class TopKCollector extends SimpleCollector {
  private final int k;
  private final LongHeap kept; // the k best so far: the bits of a score (never negative, so they ascend), the document
  private long[] tied = new long[16]; // those that lost against the worst of the kept by their number alone
  private int tiedCount;
  private Scorable scorer;
  private int docBase;

  private TopKCollector(int k, int documents) {
    this.k = Math.min(k, Math.max(documents, 1));
    this.kept = new LongHeap(this.k);
  }

  /** Returns the hits, best first. */
  static ScoreDoc[] search(IndexSearcher searcher, Query query, int k) throws IOException {
    IndexReader reader = searcher.getIndexReader();
    return searcher.search(query, new CollectorManager<TopKCollector, ScoreDoc[]>() {
      @Override
      public TopKCollector newCollector() {
        return new TopKCollector(k, reader.maxDoc());
      }

      @Override
      public ScoreDoc[] reduce(Collection<TopKCollector> collectors) throws IOException {
        return hits(collectors, k, reader.leaves());
      }
    });
  }

  /** Returns the hits of one query, best first; each thread searches one segment after the other. */
  static ScoreDoc[] searchSegments(IndexSearcher searcher, Query query, int k, int threads) throws Exception {
    Weight weight = searcher.createWeight(searcher.rewrite(query), ScoreMode.TOP_SCORES, 1f);
    List<LeafReaderContext> leaves = searcher.getIndexReader().leaves();
    TopKCollector[] collectors = new TopKCollector[leaves.size()];
    Searching.onThreads(threads, collectors.length, number -> {
      try {
        collectors[number] = collected(weight, leaves.get(number), k);
      } catch (IOException failure) {
        throw new IllegalStateException("segment " + number + ": " + failure, failure);
      }
    });
    return hits(Arrays.asList(collectors), k, leaves);
  }

  private static TopKCollector collected(Weight weight, LeafReaderContext leaf, int k) throws IOException {
    TopKCollector collector = new TopKCollector(k, leaf.reader().maxDoc());
    BulkScorer scorer = weight.bulkScorer(leaf);
    if (scorer != null) {
      LeafCollector collecting = collector.getLeafCollector(leaf);
      scorer.score(collecting, leaf.reader().getLiveDocs(), 0, DocIdSetIterator.NO_MORE_DOCS);
    }
    return collector;
  }

  @Override
  public ScoreMode scoreMode() {
    return ScoreMode.TOP_SCORES;
  }

  @Override
  protected void doSetNextReader(LeafReaderContext context) {
    docBase = context.docBase;
  }

  @Override
  public void setScorer(Scorable scorer) throws IOException {
    this.scorer = scorer;
    if (kept.size() == k) {
      scorer.setMinCompetitiveScore(score(kept.top()));
    }
  }

  @Override
  public void collect(int doc) throws IOException {
    long hit = (long) Float.floatToIntBits(scorer.score()) << 32 | docBase + doc;
    if (kept.size() < k) {
      kept.push(hit);
      if (kept.size() == k) {
        scorer.setMinCompetitiveScore(score(kept.top()));
      }
      return;
    }
    long worst = kept.top();
    if (score(hit) < score(worst)) {
      return;
    }
    if (score(hit) == score(worst)) {
      addTied(hit);
      return;
    }
    kept.updateTop(hit);
    if (score(kept.top()) > score(worst)) {
      tiedCount = 0;
      scorer.setMinCompetitiveScore(score(kept.top()));
    } else {
      addTied(worst);
    }
  }

  private void addTied(long hit) {
    if (tiedCount == tied.length) {
      tied = Arrays.copyOf(tied, Math.multiplyExact(tiedCount, 2));
    }
    tied[tiedCount++] = hit;
  }

  /** The k best of what the collectors kept: documents that score below the k-th need no id. */
  private static ScoreDoc[] hits(Collection<TopKCollector> collectors, int k, List<LeafReaderContext> leaves)
      throws IOException {
    long[] found = collected(collectors);
    int first = Math.max(found.length - k, 0);
    while (first > 0 && score(found[first - 1]) == score(found[first])) {
      first--;
    }
    Hit[] hits = new Hit[found.length - first];
    for (int i = 0; i < hits.length; i++) {
      hits[i] = new Hit((int) found[first + i], score(found[first + i]));
    }
    readIds(tiedByDocument(hits), leaves);
    Arrays.sort(hits, Hit.BEST_FIRST);
    return Arrays.copyOf(hits, Math.min(k, hits.length));
  }

  /** What all collectors kept, ascending by score, then document. */
  private static long[] collected(Collection<TopKCollector> collectors) {
    long[] found = new long[collectors.stream().mapToInt(each -> each.kept.size() + each.tiedCount).sum()];
    int count = 0;
    for (TopKCollector each : collectors) {
      for (int i = 1; i <= each.kept.size(); i++) {
        found[count++] = each.kept.get(i); // a LongHeap counts from 1
      }
      System.arraycopy(each.tied, 0, found, count, each.tiedCount);
      count += each.tiedCount;
    }
    Arrays.sort(found);
    return found;
  }

  private static List<Hit> tiedByDocument(Hit[] hits) {
    List<Hit> found = new ArrayList<>();
    for (int i = 0; i < hits.length; i++) {
      boolean asBefore = i > 0 && hits[i - 1].score == hits[i].score;
      if (asBefore || i + 1 < hits.length && hits[i + 1].score == hits[i].score) {
        found.add(hits[i]);
      }
    }
    found.sort(Comparator.comparingInt(hit -> hit.doc));
    return found;
  }

  private static void readIds(List<Hit> hits, List<LeafReaderContext> leaves) throws IOException {
    BinaryDocValues values = null;
    int leaf = -1;
    for (Hit hit : hits) {
      int wanted = ReaderUtil.subIndex(hit.doc, leaves);
      if (wanted != leaf) {
        leaf = wanted;
        values = DocValues.getBinary(leaves.get(leaf).reader(), Bridge.ID);
      }
      if (values.advanceExact(hit.doc - leaves.get(leaf).docBase)) {
        hit.id = BytesRef.deepCopyOf(values.binaryValue());
      }
    }
  }

  private static float score(long hit) {
    return Float.intBitsToFloat((int) (hit >>> 32));
  }

  /** A hit with its id, where another hit has the same score. */
  private static final class Hit extends ScoreDoc {
    static final Comparator<Hit> BEST_FIRST =
        Comparator.<Hit>comparingDouble(hit -> -hit.score).thenComparing(hit -> hit.id).thenComparingInt(hit -> hit.doc);

    BytesRef id = new BytesRef(BytesRef.EMPTY_BYTES);

    Hit(int doc, float score) {
      super(doc, score);
    }
  }
}
