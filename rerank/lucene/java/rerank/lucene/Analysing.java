package rerank.lucene;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenFilter;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.standard.StandardTokenizer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.analysis.tokenattributes.OffsetAttribute;
import org.apache.lucene.analysis.tokenattributes.PositionIncrementAttribute;
import org.apache.lucene.util.BytesRef;

/** The terms of texts with the positions that indexing would give them, and where they are in the text. */
final class Analysing {
  /** Filters that change, drop or keep each token by itself, whatever the tokens before and after it are. */
  private static final Set<String> TOKENWISE = Set.of(
      "LowerCaseFilter", "StopFilter", "SetKeywordMarkerFilter", "PorterStemFilter", "SnowballFilter",
      "EnglishPossessiveFilter", "ElisionFilter", "DecimalDigitFilter", "FrenchLightStemFilter",
      "GermanNormalizationFilter", "GermanLightStemFilter", "SpanishLightStemFilter", "ItalianLightStemFilter",
      "PortugueseLightStemFilter", "ArabicNormalizationFilter", "ArabicStemFilter", "IndicNormalizationFilter",
      "HindiNormalizationFilter", "HindiStemFilter", "BengaliNormalizationFilter", "BengaliStemFilter",
      "TeluguNormalizationFilter", "TeluguStemFilter", "PersianNormalizationFilter", "PersianStemFilter",
      "ApostropheFilter", "TurkishLowerCaseFilter", "StemmerOverrideFilter", "IndonesianStemFilter");

  private final Analyzer analyzer;
  private final Map<String, Integer> numbers = new ConcurrentHashMap<>();
  private final AtomicInteger nextNumber = new AtomicInteger();

  private Analysing(Analyzer analyzer) {
    this.analyzer = analyzer;
  }

  /** The tokens of one text; `span` is the number of positions that it takes, those of dropped tokens included. */
  private static final class Tokens {
    int[] terms = new int[16];
    int[] positions = new int[16];
    int count;
    int span;

    void add(int term, int position) {
      if (count == terms.length) {
        terms = Arrays.copyOf(terms, 2 * count);
        positions = Arrays.copyOf(positions, 2 * count);
      }
      terms[count] = term;
      positions[count++] = position;
    }
  }

  /**
   * Answers with the number of distinct terms; for each text its number of tokens, then for each its span; for each
   * token the number of its term, then for each its position; for each term its length, then all terms. Integers are
   * int32.
   */
  static byte[] analyze(JsonNode request) throws Exception {
    String[] texts = Bridge.strings(request.get("texts"));
    Analysing analysing = new Analysing(Bridge.analyzer(request.get("language").asText()));
    Tokens[] tokens = new Tokens[texts.length];
    Searching.onThreads(request.get("threads").asInt(), texts.length, number -> {
      try {
        tokens[number] = analysing.tokens(texts[number]);
      } catch (IOException failure) {
        throw new IllegalStateException("text " + number + ": " + failure, failure);
      }
    });
    return analysing.packed(tokens);
  }

  private Tokens tokens(String text) throws IOException {
    Tokens tokens = new Tokens();
    try (TokenStream stream = analyzer.tokenStream("contents", text)) {
      CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
      PositionIncrementAttribute increment = stream.addAttribute(PositionIncrementAttribute.class);
      stream.reset();
      int position = -1;
      while (stream.incrementToken()) {
        position += increment.getPositionIncrement();
        tokens.add(numbers.computeIfAbsent(term.toString(), key -> nextNumber.getAndIncrement()), position);
      }
      stream.end();
      tokens.span = position + 1 + increment.getPositionIncrement();
    }
    return tokens;
  }

  /**
   * Answers, for each text, with where the tokens at the positions from `first` to before `last` begin and end, in
   * UTF-16 units; with 0 and 0 where it has none there.
   */
  static ArrayNode offsets(JsonNode request) throws IOException {
    Analyzer analyzer = Bridge.analyzer(request.get("language").asText());
    String[] texts = Bridge.strings(request.get("texts"));
    ArrayNode all = Bridge.JSON.createArrayNode();
    for (int number = 0; number < texts.length; number++) {
      int first = request.get("first").get(number).asInt();
      int last = request.get("last").get(number).asInt();
      int begin = 0;
      int end = 0;
      try (TokenStream stream = analyzer.tokenStream("contents", texts[number])) {
        OffsetAttribute offset = stream.addAttribute(OffsetAttribute.class);
        PositionIncrementAttribute increment = stream.addAttribute(PositionIncrementAttribute.class);
        stream.reset();
        int position = -1;
        while (stream.incrementToken() && (position += increment.getPositionIncrement()) < last) {
          if (position >= first) {
            begin = end == 0 ? offset.startOffset() : begin;
            end = Math.max(end, offset.endOffset());
          }
        }
      }
      all.addArray().add(begin).add(end);
    }
    return all;
  }

  private byte[] packed(Tokens[] tokens) {
    BytesRef[] terms = new BytesRef[nextNumber.get()];
    int total = Math.addExact(Bridge.HEADER + 4 + 4 * terms.length, Math.multiplyExact(8, tokens.length));
    for (Map.Entry<String, Integer> entry : numbers.entrySet()) {
      BytesRef term = new BytesRef(entry.getKey());
      terms[entry.getValue()] = term;
      total = Math.addExact(total, term.length);
    }
    for (Tokens each : tokens) {
      total = Math.addExact(total, Math.multiplyExact(8, each.count));
    }
    ByteBuffer out = ByteBuffer.allocate(total).order(ByteOrder.LITTLE_ENDIAN).position(Bridge.HEADER);
    out.putInt(terms.length);
    for (Tokens each : tokens) {
      out.putInt(each.count);
    }
    for (Tokens each : tokens) {
      out.putInt(each.span);
    }
    for (Tokens each : tokens) {
      put(out, each.terms, each.count);
    }
    for (Tokens each : tokens) {
      put(out, each.positions, each.count);
    }
    for (BytesRef term : terms) {
      out.putInt(term.length);
    }
    for (BytesRef term : terms) {
      out.put(term.bytes, term.offset, term.length);
    }
    return out.array();
  }

  private static void put(ByteBuffer out, int[] values, int count) {
    for (int i = 0; i < count; i++) {
      out.putInt(values[i]);
    }
  }

  /**
   * Answers whether an analyzer treats the words between white space one by one: a StandardTokenizer, no token of
   * which holds white space and which keeps nothing of the text before a token; filters of single tokens; and none
   * of characters before it.
   */
  static ObjectNode wordwise(String language) throws Exception {
    Field input = TokenFilter.class.getDeclaredField("input");
    input.setAccessible(true);
    StringBuilder chain = new StringBuilder();
    Analyzer analyzer = Bridge.analyzer(language);
    boolean wordwise = !filtersCharacters(analyzer.getClass());
    try (TokenStream last = analyzer.tokenStream("contents", "")) {
      TokenStream stream = last;
      while (stream instanceof TokenFilter) {
        String name = stream.getClass().getSimpleName();
        wordwise &= TOKENWISE.contains(name);
        chain.insert(0, " " + name);
        stream = (TokenStream) input.get(stream);
      }
      wordwise &= stream.getClass() == StandardTokenizer.class;
      chain.insert(0, stream.getClass().getSimpleName());
      last.reset();
      last.end();
    }
    return Bridge.JSON.createObjectNode().put("wordwise", wordwise).put("chain", chain.toString());
  }

  private static boolean filtersCharacters(Class<?> kind) {
    for (Class<?> each = kind; each != Analyzer.class; each = each.getSuperclass()) {
      if (Arrays.stream(each.getDeclaredMethods()).anyMatch(method -> method.getName().equals("initReader"))) {
        return true;
      }
    }
    return false;
  }
}
