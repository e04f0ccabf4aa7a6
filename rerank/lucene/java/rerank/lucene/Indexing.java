package rerank.lucene;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.anserini.index.AbstractIndexer;
import io.anserini.index.IndexCollection;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.store.FSDirectory;

/** Building an index with Anserini's IndexCollection. */
final class Indexing {
  private static volatile IndexCollection building;

  private Indexing() {}

  static ObjectNode index(JsonNode request) throws Exception {
    IndexCollection.Args args = new IndexCollection.Args();
    args.collectionClass = request.get("collection").asText();
    args.generatorClass = "DefaultLuceneDocumentGenerator";
    args.input = request.get("input").asText();
    args.index = request.get("index").asText();
    args.fields = Bridge.strings(request.get("fields"));
    args.language = request.get("language").asText();
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
    commitNotes(args, request);
    ObjectNode counts = Bridge.JSON.createObjectNode();
    counts.put("indexed", indexer.getCounters().indexed.get());
    counts.put("empty", indexer.getCounters().empty.get());
    counts.put("skipped", indexer.getCounters().skipped.get());
    counts.put("errors", indexer.getCounters().errors.get());
    return counts;
  }

  /** Notes the language, the fields that the build was told and the shard in the index itself: Lucene keeps none. */
  private static void commitNotes(IndexCollection.Args args, JsonNode request) throws IOException {
    Map<String, String> notes = new TreeMap<>(Map.of(Bridge.LANGUAGE, args.language));
    if (request.path("joined").isArray()) {
      notes.put(Bridge.FIELDS, request.get("joined").toString());
    }
    if (request.path("shard").isObject()) {
      notes.put(Bridge.SHARD, request.get("shard").toString());
    }
    IndexWriterConfig config = new IndexWriterConfig().setOpenMode(IndexWriterConfig.OpenMode.APPEND);
    try (FSDirectory folder = FSDirectory.open(Path.of(args.index));
        IndexWriter writer = new IndexWriter(folder, config)) {
      writer.setLiveCommitData(notes.entrySet());
      writer.commit();
    }
  }

  /** The documents that the running (or last) build has indexed so far. */
  static long indexed() {
    return building == null ? 0 : building.getCounters().indexed.get();
  }

  /** Where the writer itself failed (a full disk), its error says all: what Anserini prints meanwhile is dropped. */
  private static void runToTheEnd(IndexCollection indexer) throws Exception {
    PrintStream errors = System.err;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setErr(new PrintStream(printed, true));
    try {
      run(indexer);
    } finally {
      System.setErr(errors);
      if (writer(indexer).getTragicException() == null) {
        printed.writeTo(errors);
      }
    }
  }

  /** Anserini's pool does not hear an interrupt: rolling back its writer makes what is left of the work fail. */
  private static void run(IndexCollection indexer) throws Exception {
    AtomicReference<Throwable> failure = new AtomicReference<>();
    Thread runner = new Thread(indexer, "rerank-index");
    runner.setDaemon(true);
    runner.setUncaughtExceptionHandler((thread, thrown) -> failure.set(thrown));
    runner.start();
    try {
      runner.join();
    } catch (InterruptedException stop) {
      stopInSilence(indexer, runner);
      throw stop;
    }
    Throwable tragedy = writer(indexer).getTragicException(); // of which Anserini tells its log alone
    if (tragedy != null) {
      throw new IllegalStateException(tragedy);
    }
    if (failure.get() != null) {
      writer(indexer).rollback();
      throw new IllegalStateException(failure.get());
    }
  }

  /** Each file that fails would print a stack trace: the user who has stopped the work need not read them. */
  private static void stopInSilence(IndexCollection indexer, Thread runner) throws Exception {
    PrintStream errors = System.err;
    System.setErr(new PrintStream(OutputStream.nullOutputStream()));
    Configurator.setRootLevel(Level.OFF);
    try {
      writer(indexer).rollback();
      runner.join();
    } finally {
      Configurator.setRootLevel(Level.ERROR);
      System.setErr(errors);
    }
  }

  private static IndexWriter writer(IndexCollection indexer) throws Exception {
    Field writer = AbstractIndexer.class.getDeclaredField("writer");
    writer.setAccessible(true);
    return (IndexWriter) writer.get(indexer);
  }
}
