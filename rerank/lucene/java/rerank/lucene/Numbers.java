package rerank.lucene;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.MultiBits;
import org.apache.lucene.index.StoredFields;
import org.apache.lucene.util.Bits;

/**
 * The numbers of the documents: every top-level key of a raw JSON document whose value is a number.
 *
 * <p>The file `numbers` holds little-endian float64, key after key in alphabetical order, one a document; NaN
 * where the document has none. It is empty where the index stores no raw documents, or others than JSON.
 */
final class Numbers {
  private static final Set<String> IDS = Set.of("id", "_id", "docid");

  private Numbers() {}

  static void write(IndexReader reader, String folder, ArrayNode names) throws Exception {
    Map<String, double[]> columns = new TreeMap<>();
    StoredFields stored = reader.storedFields();
    Bits live = MultiBits.getLiveDocs(reader);
    for (int doc = 0; doc < reader.maxDoc(); doc++) {
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      if (live == null || live.get(doc)) {
        read(stored.document(doc, Set.of(Bridge.RAW)).get(Bridge.RAW), doc, reader.maxDoc(), columns);
      }
    }
    try (DataOutputStream out = Exporting.stream(folder, "numbers")) {
      for (Map.Entry<String, double[]> column : columns.entrySet()) {
        names.add(column.getKey());
        for (double value : column.getValue()) {
          out.writeLong(Long.reverseBytes(Double.doubleToRawLongBits(value)));
        }
      }
    }
  }

  private static void read(String raw, int doc, int documents, Map<String, double[]> columns) {
    if (raw == null || !raw.startsWith("{")) {
      return;
    }
    JsonNode document = parsed(raw);
    document.fieldNames().forEachRemaining(name -> {
      if (document.get(name).isNumber() && !IDS.contains(name)) {
        columns.computeIfAbsent(name, key -> missing(documents))[doc] = document.get(name).asDouble();
      }
    });
  }

  private static JsonNode parsed(String raw) {
    try {
      return Bridge.JSON.readTree(raw);
    } catch (JsonProcessingException noJson) {
      return Bridge.JSON.createObjectNode();
    }
  }

  private static double[] missing(int documents) {
    double[] column = new double[documents];
    Arrays.fill(column, Double.NaN);
    return column;
  }
}
