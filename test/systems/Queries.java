import java.io.IOException;
import java.util.concurrent.TimeUnit;

/** Counts the rows of a system all the time: what was there once should be there always. */
public class Queries extends Thread {
    /** A query that counts all rows. */
    public interface Count {
        int rows() throws IOException, InterruptedException;
    }

    private final Work work;
    private final Count count;
    private int queries, failed, fewer;

    public Queries(Work work, Count count) {
        this.work = work;
        this.count = count;
    }

    @Override
    public void run() {
        int most = 0;
        while (!work.stopped()) {
            long began = System.nanoTime();
            try {
                int rows = count.rows();
                queries++;
                fewer += rows < most ? 1 : 0;
                most = Math.max(most, rows);
                TimeUnit.MILLISECONDS.sleep(200);
            } catch (IOException e) {
                failed++;
                System.out.println("query: " + e);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            work.waited("query", began, System.nanoTime());
        }
    }

    /** Prints what users felt, when the thread has ended. */
    public void felt() {
        Work.felt("queries that failed", failed);
        Work.felt("queries that found fewer rows than before", fewer + " of " + queries);
    }
}
