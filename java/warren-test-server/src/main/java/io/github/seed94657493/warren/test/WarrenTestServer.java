package io.github.seed94657493.warren.test;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A standalone Warren server for tests: a process of its own, on a free loopback port, with its data in a
 * temporary directory. It runs until {@link #close}, or until the JVM ends.
 *
 * <p>It runs the program that the system property {@code warren.bin} or the environment variable
 * {@code WARREN_BIN} names, or else {@code warren} from the PATH.
 *
 * <p>Any thread may call its methods, one at a time.
 */
public final class WarrenTestServer implements AutoCloseable {
    private static final Pattern SERVES = Pattern.compile("serves clients on (\\S+):(\\d+),");

    private final Path directory;
    private final List<String> settings;
    private final Thread hook = new Thread(this::destroy, "warren-test-server");
    private volatile Process process;
    private int port; // 0 before the first start

    private WarrenTestServer(Path directory, List<String> settings) {
        this.directory = directory;
        this.settings = settings;
    }

    /**
     * Starts a server and returns when it serves clients.
     *
     * @param settings lines of zoo.cfg, such as {@code "tickTime=500"}
     * @throws IOException if there is no such program, or it does not start; the message includes its output
     */
    public static WarrenTestServer start(String... settings) throws IOException {
        Path directory = Files.createTempDirectory("warren-test-server-");
        WarrenTestServer server = new WarrenTestServer(directory, List.of(settings));
        Runtime.getRuntime().addShutdownHook(server.hook);
        try {
            server.restart();
            return server;
        } catch (IOException | RuntimeException e) {
            server.close();
            throw e;
        }
    }

    /** The connection string for clients: host and port. */
    public synchronized String connectString() {
        return "127.0.0.1:" + port;
    }

    /** The port for clients. It stays the same when the server is restarted. */
    public synchronized int port() {
        return port;
    }

    /** Stops the server cleanly, as SIGTERM does. Its data stays. */
    public synchronized void stop() {
        end(false);
    }

    /** Kills the server at once, as SIGKILL does. Its data stays. */
    public synchronized void kill() {
        end(true);
    }

    /**
     * Restarts the server on the same port with the same data, and returns when it serves clients. A running server is
     * stopped first.
     */
    public synchronized void restart() throws IOException {
        stop();
        Path log = directory.resolve("server.log");
        List<String> command = new ArrayList<>(List.of(program(), "server", "--client-address", "127.0.0.1",
            "--client-port", String.valueOf(port), "--data-dir", directory.resolve("data").toString(),
            "-D", "admin.enableServer=false"));
        for (String line : settings) {
            command.add("-D");
            command.add(line);
        }
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log.toFile())).start();
        BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(),
            StandardCharsets.UTF_8));
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            Matcher serves = SERVES.matcher(line);
            if (serves.find()) {
                port = Integer.parseInt(serves.group(2));
                return; // it writes no more than this line to its standard output
            }
        }
        throw new IOException("warren server has ended while starting:\n" + Files.readString(log));
    }

    /** Stops the server and removes its data. */
    @Override
    public synchronized void close() {
        end(true);
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // The JVM ends: the hook runs.
        }
        removeData();
    }

    private static String program() {
        String named = System.getProperty("warren.bin", System.getenv("WARREN_BIN"));
        return named == null || named.isEmpty() ? "warren" : new File(named).getAbsolutePath();
    }

    private void end(boolean atOnce) {
        Process running = process;
        if (running == null) {
            return;
        }
        if (atOnce) {
            running.destroyForcibly();
        } else {
            running.destroy();
        }
        try {
            if (!running.waitFor(20, TimeUnit.SECONDS)) {
                running.destroyForcibly().waitFor();
            }
        } catch (InterruptedException e) {
            running.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        process = null;
    }

    /** Cleans up when the JVM ends without close. It takes no lock that a stuck thread may hold. */
    private void destroy() {
        Process running = process;
        if (running != null) {
            running.destroyForcibly();
        }
        removeData();
    }

    private void removeData() {
        try (Stream<Path> all = Files.walk(directory)) {
            all.sorted(Comparator.reverseOrder()).map(Path::toFile).forEach(File::delete);
        } catch (IOException e) {
            // What is left is in the system's temporary directory.
        }
    }
}
