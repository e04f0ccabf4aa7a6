package rerank.lucene;

import com.fasterxml.jackson.databind.JsonNode;
import io.anserini.search.query.BagOfWordsQueryGenerator;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntConsumer;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.MultiReader;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.similarities.BM25Similarity;

/**
 * BM25 for many queries at once: the hits and scores of Anserini's SimpleSearcher.batch_search.
 *
 * <p>A reader of several shards has the statistics of all of them, so that scores are those of one index. Threads share
 * the queries; of a single query, they share the segments of the shards.
 */
final class Searching {
  static {
    IndexSearcher.setMaxClauseCount(Integer.MAX_VALUE); // a query may be as long as a document
  }

  private Searching() {}

  /**
   * Answers with the number of hits of each query, then all document numbers, then all scores; if the request has
   * `terms`, then the terms of each query as JSON.
   */
  static byte[] search(IndexReader reader, JsonNode request) throws Exception {
    IndexSearcher searcher = new IndexSearcher(reader);
    float k1 = (float) request.get("k1").asDouble();
    float b = (float) request.get("b").asDouble();
    searcher.setSimilarity(new BM25Similarity(k1, b));
    String[] queries = Bridge.strings(request.get("queries"));
    String field = request.get("field").asText();
    Analyzer analyzer = Bridge.analyzer(request.get("language").asText());
    int k = request.get("k").asInt();
    ScoreDoc[][] hits = new ScoreDoc[queries.length][];
    BagOfWordsQueryGenerator generator = new BagOfWordsQueryGenerator();
    int threads = request.get("threads").asInt();
    boolean splits = queries.length == 1 && threads > 1 && reader instanceof MultiReader;
    onThreads(threads, queries.length, number -> {
      try {
        Query query = generator.buildQuery(field, analyzer, queries[number]);
        hits[number] = splits
            ? TopKCollector.searchSegments(searcher, query, k, threads)
            : TopKCollector.search(searcher, query, k);
      } catch (Exception failure) {
        throw new IllegalStateException("query " + number + ": " + failure, failure);
      }
    });
    if (!request.path("terms").asBoolean()) {
      return packed(hits, new byte[0]);
    }
    return packed(hits, Bridge.JSON.writeValueAsBytes(Bridge.analyze(request.get("queries"), analyzer)));
  }

  static void onThreads(int threads, int tasks, IntConsumer task) throws Exception {
    if (tasks == 1) {
      task.accept(0);
      return;
    }
    AtomicInteger next = new AtomicInteger();
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread[] workers = new Thread[Math.min(threads, tasks)];
    for (int w = 0; w < workers.length; w++) {
      workers[w] = new Thread(() -> {
        for (int number = next.getAndIncrement(); number < tasks; number = next.getAndIncrement()) {
          task.accept(number);
        }
      }, "rerank-search");
      workers[w].setDaemon(true);
      workers[w].setUncaughtExceptionHandler((thread, thrown) -> {
        next.set(tasks);
        failure.compareAndSet(null, thrown);
      });
      workers[w].start();
    }
    try {
      for (Thread worker : workers) {
        worker.join();
      }
    } finally {
      next.set(tasks);
    }
    if (failure.get() != null) {
      throw new IllegalStateException(failure.get().getMessage(), failure.get());
    }
  }

  private static byte[] packed(ScoreDoc[][] hits, byte[] terms) {
    int rows = 0;
    for (ScoreDoc[] list : hits) {
      rows = Math.addExact(rows, list.length);
    }
    int size = Math.addExact(Bridge.HEADER + 4 * hits.length + terms.length, Math.multiplyExact(8, rows));
    ByteBuffer out = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN).position(Bridge.HEADER);
    for (ScoreDoc[] list : hits) {
      out.putInt(list.length);
    }
    for (ScoreDoc[] list : hits) {
      for (ScoreDoc hit : list) {
        out.putInt(hit.doc);
      }
    }
    for (ScoreDoc[] list : hits) {
      untie(list);
      for (ScoreDoc hit : list) {
        out.putFloat(hit.score);
      }
    }
    return out.put(terms).array();
  }

  /** Anserini's ScoreTiesAdjusterReranker: 4 decimals, then 1e-6 less for each further hit of a tie. */
  private static void untie(ScoreDoc[] hits) {
    int ties = 0;
    for (int i = 0; i < hits.length; i++) {
      hits[i].score = (float) (Math.round(hits[i].score * 10000.0) / 10000.0);
      if (i == 0 || hits[i - 1].score - hits[i].score > 0.0001f) {
        ties = 0;
      } else {
        ties++;
        hits[i].score -= 0.000001f * ties;
      }
    }
  }
}
