import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.anserini.index.AbstractIndexer;
import io.anserini.index.IndexCollection;
import java.lang.reflect.Field;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.lucene.index.IndexWriter;

/** Building an index with Anserini's IndexCollection. */
final class Indexing {
  private static final int PATIENCE_MS = 2000;
  private static volatile IndexCollection building;

  private Indexing() {}

  static ObjectNode index(JsonNode request) throws Exception {
    IndexCollection.Args args = new IndexCollection.Args();
    args.collectionClass = request.get("collection").asText();
    args.generatorClass = "DefaultLuceneDocumentGenerator";
    args.input = request.get("input").asText();
    args.index = request.get("index").asText();
    args.fields = Bridge.strings(request.get("fields"));
    args.threads = request.get("threads").asInt();
    args.memoryBuffer = (int) Math.max(16, Math.min(1024, Runtime.getRuntime().maxMemory() >> 22));
    args.storePositions = true;
    args.storeDocvectors = true;
    args.storeRaw = true;
    args.optimize = true;
    args.quiet = true;
    IndexCollection indexer = new IndexCollection(args);
    building = indexer;
    runToTheEnd(indexer);
    ObjectNode counts = Bridge.JSON.createObjectNode();
    counts.put("indexed", indexer.getCounters().indexed.get());
    counts.put("empty", indexer.getCounters().empty.get());
    counts.put("skipped", indexer.getCounters().skipped.get());
    counts.put("errors", indexer.getCounters().errors.get());
    return counts;
  }

  /** The documents that the running (or last) build has indexed so far. */
  static long indexed() {
    return building == null ? 0 : building.getCounters().indexed.get();
  }

  /** Anserini waits for its workers even when interrupted: if that lasts, rolling back its writer stops them. */
  private static void runToTheEnd(IndexCollection indexer) throws Exception {
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread runner = new Thread(indexer, "rerank-index");
    runner.setDaemon(true);
    runner.setUncaughtExceptionHandler((thread, thrown) -> failure.set(thrown));
    runner.start();
    try {
      runner.join();
    } catch (InterruptedException stop) {
      runner.interrupt();
      runner.join(PATIENCE_MS);
      rollback(indexer);
      runner.join();
      throw stop;
    }
    if (failure.get() != null) {
      rollback(indexer);
      throw new IllegalStateException(failure.get());
    }
  }

  private static void rollback(IndexCollection indexer) throws Exception {
    Field writer = AbstractIndexer.class.getDeclaredField("writer");
    writer.setAccessible(true);
    ((IndexWriter) writer.get(indexer)).rollback();
  }
}
