import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Map;
import java.util.TreeMap;

/** What the program that gives a system work is told, and the longest times that its users waited. */
public class Work {
    private final String fault;
    private final Map<String, Long> longest = new TreeMap<>();
    private volatile boolean stopped, marked;

    /** Begins to read what it is told; fault is what happens in the middle, such as "the node was killed". */
    public Work(String fault) {
        this.fault = fault;
        Thread control = new Thread(this::listen);
        control.setDaemon(true);
        control.start();
    }

    private void listen() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                marked |= line.equals("mark");
                stopped |= line.equals("stop");
            }
        } catch (IOException e) {
            e.printStackTrace();
        }
    }

    /** Whether the program is to check its data and to end. */
    public boolean stopped() {
        return stopped;
    }

    /** Whether the second half has begun. */
    public boolean marked() {
        return marked;
    }

    /** Notes that a user waited from one nanoTime until another for what is named. */
    public synchronized void waited(String what, long from, long until) {
        longest.merge(what + ", " + (marked ? "from then on" : "before " + fault), until - from, Math::max);
    }

    /** Prints the outcome of a check. */
    public static void check(String name, boolean ok, String detail, Object... values) {
        System.out.printf("check %s: %s %s%n", name, ok ? "ok" : "failed", String.format(detail, values));
    }

    /** Prints what users felt. */
    public static void felt(String name, Object value) {
        System.out.printf("felt %s: %s%n", name, value);
    }

    /** Prints the longest times. */
    public synchronized void print() {
        longest.forEach((what, ns) -> felt("longest " + what, String.format("%.1f s", ns / 1e9)));
    }
}
