import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

/** An application of Spark, which adds up squares again and again until it reads "stop", and checks each sum. */
public class Job {
    static final int LAST = 1_000, PARTS = 4;
    /** A run that has added up fewer times is none. */
    static final int LEAST = 100;

    public static void main(String[] args) {
        Control.start("before the Master was killed");
        SparkConf settings = new SparkConf().setAppName("squares").setMaster(args[0])
            .set("spark.executor.extraClassPath", args[1]).set("spark.executor.memory", "480m")
            .set("spark.driver.host", "127.0.0.1").set("spark.ui.enabled", "false");
        List<Long> numbers = new ArrayList<>();
        long right = 0;
        for (long i = 1; i <= LAST; i++) {
            numbers.add(i);
            right += i * i;
        }
        int sums = 0, wrong = 0;
        Map<String, Long> longest = new TreeMap<>();
        try (JavaSparkContext spark = new JavaSparkContext(settings)) {
            for (long last = 0; !Control.stopped || sums < LEAST; sums++) {
                wrong += spark.parallelize(numbers, PARTS).map(i -> i * i).reduce(Long::sum) == right ? 0 : 1;
                long now = System.nanoTime();
                if (sums == 0) {
                    System.out.println("ready");
                } else {
                    longest.merge(Control.half, now - last, Math::max);
                }
                last = now;
                TimeUnit.MILLISECONDS.sleep(100);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        System.out.printf("check sums: %s %d, %d of them wrong%n", wrong == 0 ? "ok" : "failed", sums, wrong);
        longest.forEach((part, ns) ->
            System.out.printf("felt longest time without a sum, %s: %.1f s%n", part, ns / 1e9));
        System.exit(0);
    }
}
