import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.GlobalConfiguration;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;

/** Submits a job that writes numbers exactly once, watches what it writes until it reads "stop", and checks it. */
public class Job {
    /** How many numbers each of two tasks has; no run comes to their end. */
    static final long HALF = 1L << 61;
    /** A run that has written fewer numbers is none. */
    static final int LEAST = 10_000;

    /** Lets a thousand numbers a second pass, and leaves a file each time it is started. */
    public static class Slowly extends RichMapFunction<Long, Long> {
        private final String starts;

        Slowly(String starts) {
            this.starts = starts;
        }

        @Override
        public void open(OpenContext context) throws IOException {
            int task = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
            Files.createFile(Path.of(starts, task + "-" + UUID.randomUUID()));
        }

        @Override
        public Long map(Long number) throws InterruptedException {
            TimeUnit.MILLISECONDS.sleep(1);
            return number;
        }
    }

    public static void main(String[] args) throws Exception {
        Control.start("before the JobManager was killed");
        Path dir = Path.of(args[1]), output = dir.resolve("output"), starts = dir.resolve("starts");
        Files.createDirectories(starts);
        JobClient client = submit(args[0], output, starts);
        Map<String, Long> longest = new TreeMap<>();
        long seen = 0, last = 0;
        while (!Control.stopped || seen < 10) {
            long files = written(output).size(), now = System.nanoTime();
            if (files > seen) {
                if (seen == 0) {
                    System.out.println("ready");
                } else {
                    longest.merge(Control.half, now - last, Math::max);
                }
                seen = files;
                last = now;
            }
            TimeUnit.MILLISECONDS.sleep(50);
        }
        stop(client, dir.resolve("savepoints").toUri().toString());
        JobStatus status = client.getJobStatus().get(60, TimeUnit.SECONDS);
        System.out.println("check end: " + (status == JobStatus.FINISHED ? "ok " : "failed ") + status);
        check(output);
        longest.forEach((part, ns) ->
            System.out.printf("felt longest time without output, %s: %.1f s%n", part, ns / 1e9));
        try (Stream<Path> all = Files.list(starts)) {
            long count = all.filter(p -> p.getFileName().toString().startsWith("0-")).count();
            System.out.printf("felt restarts of the job, besides the one for its JobManager: %d%n", count - 2);
        }
        System.exit(0);
    }

    /** Stops the job with a savepoint, which takes none while it is being restarted. */
    static void stop(JobClient client, String savepoints) throws Exception {
        for (int tries = 1;; tries++) {
            try {
                client.stopWithSavepoint(true, savepoints, SavepointFormatType.CANONICAL).get(60, TimeUnit.SECONDS);
                return;
            } catch (ExecutionException e) {
                if (tries == 30) {
                    throw e;
                }
                TimeUnit.SECONDS.sleep(1);
            }
        }
    }

    static JobClient submit(String dir, Path output, Path starts) throws Exception {
        Configuration settings = GlobalConfiguration.loadConfiguration(dir);
        settings.setString("execution.target", "remote");
        StreamExecutionEnvironment env = new StreamExecutionEnvironment(settings);
        env.setParallelism(2);
        env.enableCheckpointing(1000);
        env.fromSequence(0, 2 * HALF - 1).map(new Slowly(starts.toString())).sinkTo(
            FileSink.forRowFormat(new org.apache.flink.core.fs.Path(output.toUri()), new SimpleStringEncoder<Long>())
                .withRollingPolicy(OnCheckpointRollingPolicy.build()).build());
        for (int tries = 1;; tries++) {
            try {
                return env.executeAsync("numbers");
            } catch (Exception e) { // the JobManager has told that it leads, and is not there yet
                if (tries == 30) {
                    throw e;
                }
                TimeUnit.SECONDS.sleep(1);
            }
        }
    }

    /** The files that are complete, in one folder for each hour. Others come and go meanwhile. */
    static List<Path> written(Path output) {
        List<Path> all = new ArrayList<>();
        for (File hour : list(output.toFile())) {
            for (File file : list(hour)) {
                if (!file.getName().startsWith(".")) {
                    all.add(file.toPath());
                }
            }
        }
        return all;
    }

    static File[] list(File folder) {
        File[] all = folder.listFiles();
        return all == null ? new File[0] : all;
    }

    /** Each half of the numbers must have been written from its beginning, without a gap, and each number once. */
    static void check(Path output) throws IOException {
        BitSet[] halves = {new BitSet(), new BitSet()};
        long twice = 0, missing = 0, total = 0;
        for (Path file : written(output)) {
            for (String line : Files.readAllLines(file)) {
                long number = Long.parseLong(line);
                int side = number < HALF ? 0 : 1, at = (int) (number - side * HALF);
                twice += halves[side].get(at) ? 1 : 0;
                halves[side].set(at);
            }
        }
        for (BitSet numbers : halves) {
            missing += numbers.length() - numbers.cardinality();
            total += numbers.cardinality();
        }
        System.out.printf("check numbers: %s %d written, %d missing, %d twice%n",
            missing == 0 && twice == 0 && total >= LEAST ? "ok" : "failed", total, missing, twice);
    }
}
