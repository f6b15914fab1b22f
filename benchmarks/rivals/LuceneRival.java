import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.lucene.analysis.core.KeywordAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntPoint;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.Term;
import org.apache.lucene.monitor.CandidateMatcher;
import org.apache.lucene.monitor.MatcherFactory;
import org.apache.lucene.monitor.Monitor;
import org.apache.lucene.monitor.MonitorConfiguration;
import org.apache.lucene.monitor.MonitorQuery;
import org.apache.lucene.monitor.MultiMatchingQueries;
import org.apache.lucene.monitor.Presearcher;
import org.apache.lucene.monitor.QueryMatch;
import org.apache.lucene.monitor.TermFilteredPresearcher;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.ConstantScoreQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreMode;
import org.apache.lucene.search.SimpleCollector;
import org.apache.lucene.search.TermQuery;

/**
 * Lucene's Monitor as a matcher of rows with registered queries, in one thread.
 *
 * <p>Reads a folder: `queries.txt` has a query a line, its factors separated by blanks: `a:3:9` (an interval, both ends
 * belong to it) or `k=17` (an equality). `rows.bin` has the columns one after the other, as 32-bit numbers, little-endian. A
 * column with equalities becomes a term, the others become points.
 *
 * <p>Two matchers. `simple` is what the library offers: an object for each match. `bare` only counts matches as the search
 * finds them: the least that a client can ask for, and so the fastest that the Monitor can be.
 *
 * <p>Prints lines of JSON. First the first `checked` rows are matched once, in batches of {@value #CHECK_BATCH}, and what was
 * found is summed up: the number of matches, and the sum of (query + 1) * (row + 1) modulo 2^64 (both numbered from 0), which
 * differs if another query or row matched. Then, for each size of `batches`, all rows are matched again and again: for `warm`
 * seconds without, for `seconds` with a watch.
 */
public final class LuceneRival {
  private static final int REGISTERED_AT_ONCE = 50_000;
  private static final int CHECK_BATCH = 250;

  private final String[] columns;
  private final boolean[] term;
  private final int[][] values;
  private Document[] documents;
  private Field[][] fields;
  private final Monitor monitor;
  private final boolean simple;
  private long matches;
  private long checksum;
  private long candidates;

  private LuceneRival(Map<String, String> options) throws IOException {
    Path folder = Path.of(options.get("folder"));
    columns = options.get("columns").split(",");
    simple = options.get("matcher").equals("simple");
    List<String> lines = Files.readAllLines(folder.resolve("queries.txt"));
    term = new boolean[columns.length];
    for (String line : lines) {
      for (int c = 0; c < columns.length; c++) {
        term[c] |= (" " + line).contains(" " + columns[c] + "=");
      }
    }
    values = read(folder.resolve("rows.bin"), columns.length);
    boolean anyTerm = false;
    for (boolean t : term) {
      anyTerm |= t;
    }
    // Without terms a filter of candidates by their terms is in vain: every query is run.
    Presearcher presearcher = anyTerm ? new TermFilteredPresearcher() : Presearcher.NO_FILTERING;
    MonitorConfiguration settings = new MonitorConfiguration().setQueryUpdateBufferSize(REGISTERED_AT_ONCE);
    monitor = new Monitor(new KeywordAnalyzer(), presearcher, settings);
    register(lines);
  }

  /** Documents are made once and filled anew for each batch. */
  private void makeDocuments(int wanted) {
    int batch = Math.min(wanted, values[0].length);
    documents = new Document[batch];
    fields = new Field[columns.length][batch];
    for (int d = 0; d < batch; d++) {
      documents[d] = new Document();
      for (int c = 0; c < columns.length; c++) {
        fields[c][d] = term[c] ? new StringField(columns[c], "", Field.Store.NO) : new IntPoint(columns[c], 0);
        documents[d].add(fields[c][d]);
      }
    }
  }

  private static int[][] read(Path path, int columns) throws IOException {
    try (FileChannel channel = FileChannel.open(path)) {
      ByteBuffer buffer = channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size()).order(ByteOrder.LITTLE_ENDIAN);
      int rows = (int) (channel.size() / 4 / columns);
      int[][] read = new int[columns][rows];
      for (int[] column : read) {
        buffer.asIntBuffer().get(column);
        buffer.position(buffer.position() + 4 * rows);
      }
      return read;
    }
  }

  private void register(List<String> lines) throws IOException {
    List<MonitorQuery> waiting = new ArrayList<>();
    for (int i = 0; i < lines.size(); i++) {
      waiting.add(new MonitorQuery(Integer.toString(i), parse(lines.get(i))));
      if (waiting.size() == REGISTERED_AT_ONCE || i == lines.size() - 1) {
        monitor.register(waiting);
        waiting.clear();
      }
    }
  }

  private static Query parse(String line) {
    BooleanQuery.Builder all = new BooleanQuery.Builder();
    String[] factors = line.split(" ");
    Query one = null;
    for (String factor : factors) {
      if (factor.contains("=")) {
        String[] parts = factor.split("=");
        one = new TermQuery(new Term(parts[0], parts[1]));
      } else {
        String[] parts = factor.split(":");
        one = IntPoint.newRangeQuery(parts[0], Integer.parseInt(parts[1]), Integer.parseInt(parts[2]));
      }
      all.add(one, Occur.FILTER);
    }
    return new ConstantScoreQuery(factors.length == 1 ? one : all.build());
  }

  /** Matches a batch of the rows from `begin` up to `end`, without it; says how many they were. */
  private int match(int begin, int end, boolean judge) throws IOException {
    int size = Math.min(documents.length, end - begin);
    for (int c = 0; c < columns.length; c++) {
      for (int d = 0; d < size; d++) {
        if (term[c]) {
          fields[c][d].setStringValue(Integer.toString(values[c][begin + d]));
        } else {
          fields[c][d].setIntValue(values[c][begin + d]);
        }
      }
    }
    Document[] batch = size == documents.length ? documents : Arrays.copyOf(documents, size);
    MatcherFactory<QueryMatch> factory = simple ? QueryMatch.SIMPLE_MATCHER : s -> new Bare(s, begin, judge);
    MultiMatchingQueries<QueryMatch> found = monitor.match(batch, factory);
    candidates += found.getQueriesRun();
    if (!found.getErrors().isEmpty()) {
      throw new IllegalStateException(found.getErrors().toString());
    }
    if (simple) {
      for (int d = 0; d < size; d++) {
        matches += found.getMatchCount(d);
        if (judge) {
          for (QueryMatch match : found.getMatches(d)) {
            checksum += (Long.parseLong(match.getQueryId()) + 1) * (begin + d + 1);
          }
        }
      }
    }
    return size;
  }

  private final class Bare extends CandidateMatcher<QueryMatch> {
    private final int begin;
    private final boolean judge;

    Bare(IndexSearcher searcher, int begin, boolean judge) {
      super(searcher);
      this.begin = begin;
      this.judge = judge;
    }

    @Override
    @SuppressWarnings("deprecation") // a collector is all that one thread needs
    protected void matchQuery(String id, Query query, Map<String, String> metadata) throws IOException {
      long factor = judge ? Long.parseLong(id) + 1 : 0;
      searcher.search(query, new SimpleCollector() {
        private int base;

        @Override
        public void collect(int document) {
          matches++;
          checksum += factor * (begin + base + document + 1);
        }

        @Override
        protected void doSetNextReader(LeafReaderContext context) {
          base = context.docBase;
        }

        @Override
        public ScoreMode scoreMode() {
          return ScoreMode.COMPLETE_NO_SCORES;
        }
      });
    }

    @Override
    public QueryMatch resolve(QueryMatch one, QueryMatch other) {
      return one;
    }
  }

  private long run(double seconds) throws IOException {
    long end = System.nanoTime() + (long) (seconds * 1e9);
    long rows = 0;
    int next = 0;
    do {
      int size = match(next, values[0].length, false);
      rows += size;
      next = (next + size) % values[0].length;
    } while (System.nanoTime() < end);
    return rows;
  }

  public static void main(String[] arguments) throws IOException {
    Map<String, String> options = new HashMap<>();
    for (String argument : arguments) {
      String[] parts = argument.split("=", 2);
      options.put(parts[0], parts[1]);
    }
    long begin = System.nanoTime();
    LuceneRival rival = new LuceneRival(options);
    double registered = (System.nanoTime() - begin) / 1e9;
    rival.makeDocuments(CHECK_BATCH);
    int checked = Integer.parseInt(options.get("checked"));
    for (int row = 0; row < checked; ) {
      row += rival.match(row, checked, true);
    }
    System.out.printf(
        Locale.ROOT,
        "{\"registering\": %.6f, \"matches\": %d, \"checksum\": %s}%n",
        registered, rival.matches, Long.toUnsignedString(rival.checksum));
    for (String batch : options.get("batches").split(",")) {
      rival.makeDocuments(Integer.parseInt(batch));
      rival.run(Double.parseDouble(options.get("warm")));
      rival.matches = rival.candidates = 0;
      begin = System.nanoTime();
      long rows = rival.run(Double.parseDouble(options.get("seconds")));
      double took = (System.nanoTime() - begin) / 1e9;
      System.out.printf(
          Locale.ROOT,
          "{\"batch\": %s, \"rows\": %d, \"seconds\": %.6f, \"matches\": %d, \"queries_run\": %d}%n",
          batch, rows, took, rival.matches, rival.candidates);
    }
    rival.monitor.close();
  }
}
