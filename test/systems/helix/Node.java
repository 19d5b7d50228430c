import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.helix.HelixManager;
import org.apache.helix.HelixManagerFactory;
import org.apache.helix.InstanceType;
import org.apache.helix.NotificationContext;
import org.apache.helix.model.Message;
import org.apache.helix.participant.statemachine.StateModel;
import org.apache.helix.participant.statemachine.StateModelFactory;
import org.apache.helix.participant.statemachine.StateModelInfo;
import org.apache.helix.participant.statemachine.Transition;

/** A participant, or a controller. A participant notes each 50 ms of which partitions it is the master. */
public class Node {
    static final Set<String> mastered = ConcurrentHashMap.newKeySet();

    public static void main(String[] args) throws Exception {
        InstanceType type = InstanceType.valueOf(args[0]);
        HelixManager manager = HelixManagerFactory.getZKHelixManager(Job.CLUSTER, args[1], type, args[2]);
        if (type == InstanceType.PARTICIPANT) {
            manager.getStateMachineEngine().registerStateModelFactory(Job.MODEL, new Replicas());
        }
        manager.connect();
        if (type == InstanceType.PARTICIPANT) {
            note(Path.of(args[3]), args[1]);
        }
        Thread.currentThread().join();
    }

    static void note(Path folder, String name) throws IOException, InterruptedException {
        Files.createDirectories(folder);
        Path file = folder.resolve(name + "-" + ProcessHandle.current().pid());
        try (PrintStream out = new PrintStream(Files.newOutputStream(file), true)) {
            while (true) {
                for (String partition : mastered) {
                    out.println(System.nanoTime() + " " + partition);
                }
                TimeUnit.MILLISECONDS.sleep(50);
            }
        }
    }

    public static class Replicas extends StateModelFactory<Replica> {
        @Override
        public Replica createNewStateModel(String resource, String partition) {
            return new Replica(partition);
        }
    }

    @StateModelInfo(initialState = "OFFLINE", states = {"MASTER", "SLAVE", "OFFLINE"})
    public static class Replica extends StateModel {
        private final String partition;

        Replica(String partition) {
            this.partition = partition;
        }

        @Transition(from = "OFFLINE", to = "SLAVE")
        public void follow(Message message, NotificationContext context) {
        }

        @Transition(from = "SLAVE", to = "MASTER")
        public void lead(Message message, NotificationContext context) {
            mastered.add(partition);
        }

        @Transition(from = "MASTER", to = "SLAVE")
        public void yield(Message message, NotificationContext context) {
            mastered.remove(partition);
        }

        @Transition(from = "SLAVE", to = "OFFLINE")
        public void leave(Message message, NotificationContext context) {
        }

        @Transition(from = "OFFLINE", to = "DROPPED")
        public void drop(Message message, NotificationContext context) {
        }

        @Override
        public void reset() {
            mastered.remove(partition);
        }
    }
}
