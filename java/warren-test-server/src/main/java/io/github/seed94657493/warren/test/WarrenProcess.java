package io.github.seed94657493.warren.test;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A process that runs {@code warren server}, until it is ended or the JVM ends: the program that the system property {@code warren.bin} or the
 * environment variable {@code WARREN_BIN} names, or else {@code warren} from the PATH.
 */
public final class WarrenProcess {
    private static final Pattern SERVES = Pattern.compile("serves clients on (\\S+):(\\d+),");

    private static final Set<Process> RUNNING = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> RUNNING.forEach(Process::destroyForcibly),
            "warren-processes"));
    }

    private final Process process;
    private final Path log;

    private WarrenProcess(Process process, Path log) {
        this.process = process;
        this.log = log;
        RUNNING.add(process);
    }

    /**
     * Starts a server.
     *
     * @param log where it logs; what is there stays
     * @param arguments of {@code warren server}
     */
    public static WarrenProcess start(Path log, List<String> arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(program(), "server"));
        command.addAll(arguments);
        return new WarrenProcess(new ProcessBuilder(command).redirectError(
            ProcessBuilder.Redirect.appendTo(log.toFile())).start(), log);
    }

    /**
     * Waits until the server serves clients, and returns its port for them.
     *
     * @throws IOException if it ends instead; the message includes its log
     */
    public int awaitPort() throws IOException {
        BufferedReader out = new BufferedReader(new InputStreamReader(process.getInputStream(),
            StandardCharsets.UTF_8));
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            Matcher serves = SERVES.matcher(line);
            if (serves.find()) {
                return Integer.parseInt(serves.group(2)); // it writes no more than this line to its standard output
            }
        }
        throw new IOException("warren server has ended while starting:\n" + Files.readString(log));
    }

    /**
     * Runs a command of warren, and returns when it has ended.
     *
     * @throws IOException if it fails; the message is what it has written
     */
    public static void run(List<String> arguments) throws IOException {
        List<String> command = new ArrayList<>(List.of(program()));
        command.addAll(arguments);
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        try {
            if (process.waitFor() != 0) {
                throw new IOException(output);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        }
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** Ends the server at once, as SIGKILL does, or cleanly, as SIGTERM does, and returns when it has ended. */
    public void end(boolean atOnce) {
        if (atOnce) {
            process.destroyForcibly();
        } else {
            process.destroy();
        }
        try {
            if (!process.waitFor(20, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
        RUNNING.remove(process);
    }

    /** Ends the server at once, and returns before it has ended. */
    void destroy() {
        process.destroyForcibly();
    }

    private static String program() {
        String named = System.getProperty("warren.bin", System.getenv("WARREN_BIN"));
        return named == null || named.isEmpty() ? "warren" : new File(named).getAbsolutePath();
    }
}
