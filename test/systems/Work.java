import java.util.Map;
import java.util.TreeMap;

/** What the program that gives a system work is told, and the longest times that its users waited. */
public class Work {
    private final String first;
    private final Map<String, Long> longest = new TreeMap<>();

    /** Begins to read what it is told; fault is what happens in the middle, such as "the node was killed". */
    public Work(String fault) {
        first = "before " + fault;
        Control.start(first);
    }

    /** Whether the program is to check its data and to end. */
    public boolean stopped() {
        return Control.stopped;
    }

    /** Whether the second half has begun. */
    public boolean marked() {
        return !Control.half.equals(first);
    }

    /** Notes that a user waited from one nanoTime until another for what is named. */
    public synchronized void waited(String what, long from, long until) {
        longest.merge(what + ", " + Control.half, until - from, Math::max);
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
