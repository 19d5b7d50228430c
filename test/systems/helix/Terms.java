import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * The terms of masters, as processes have noted them. A note is a line: a moment by System.nanoTime, which all
 * processes of a machine share, since when the process is the master of a partition, and the partition.
 */
class Terms {
    /** The time in which a process was the master of a partition, from a promotion until it gave the partition up. */
    static class Term {
        final String holder; // the file of the process
        final long from;
        long until; // the last note

        Term(String holder, long from) {
            this.holder = holder;
            this.from = from;
        }
    }

    /** Of each partition. */
    final Map<String, List<Term>> all = new TreeMap<>();
    /** How many partitions had two masters at once, and for how long at most, in ns. */
    int overlaps;
    long longest;

    /** Reads the files of a folder, each of one process. Terms that ended before a moment are left out. */
    Terms(Path folder, long began) throws IOException {
        List<Path> files;
        try (Stream<Path> found = Files.list(folder)) {
            files = found.toList();
        }
        for (Path file : files) {
            Map<String, Term> open = new HashMap<>();
            String text = Files.readString(file);
            // A process that is killed may leave a part of a line.
            for (String line : text.substring(0, text.lastIndexOf('\n') + 1).lines().toList()) {
                String[] words = line.split(" ");
                long at = Long.parseLong(words[0]), from = Long.parseLong(words[1]);
                if (at < began) {
                    continue;
                }
                Term term = open.get(words[2]);
                if (term == null || term.from != from) {
                    term = new Term(file.getFileName().toString(), from);
                    open.put(words[2], term);
                    all.computeIfAbsent(words[2], p -> new ArrayList<>()).add(term);
                }
                term.until = at;
            }
        }
        for (List<Term> terms : all.values()) {
            terms.sort((a, b) -> Long.compare(a.from, b.from));
            long both = 0;
            for (int i = 0; i < terms.size(); i++) {
                for (Term later : terms.subList(i + 1, terms.size())) {
                    both = Math.max(both, Math.min(terms.get(i).until, later.until) - later.from);
                }
            }
            overlaps += both > 0 ? 1 : 0;
            longest = Math.max(longest, both);
        }
    }

    /** Prints for each folder how many partitions had a master, and two at once. */
    public static void main(String[] folders) throws IOException {
        for (String folder : folders) {
            Terms terms = new Terms(Path.of(folder), Long.MIN_VALUE);
            System.out.println(terms.all.size() + " " + terms.overlaps);
        }
    }
}
