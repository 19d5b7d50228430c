import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.YarnApplicationAttemptState;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.exceptions.YarnException;

/** Runs one application after the other, with its master in this process, until it reads "stop", and checks them. */
public class Job {
    static final Resource SIZE = Resource.newInstance(128, 1);
    /** How long, in nanoseconds, an application may take. */
    static final long LIMIT = TimeUnit.SECONDS.toNanos(120);
    /** A run with fewer applications is none. */
    static final int LEAST = 20;

    static final YarnConfiguration conf = new YarnConfiguration();

    public static void main(String[] args) throws Exception {
        Work work = new Work("the ResourceManager was killed");
        Path output = Files.createDirectory(Path.of(args[0], "output"));
        YarnClient yarn = YarnClient.createYarnClient();
        yarn.init(conf);
        yarn.start();
        List<ApplicationId> done = new ArrayList<>();
        int failed = 0;
        while (!work.stopped() || done.size() < LEAST) {
            long began = System.nanoTime();
            try {
                done.add(run(yarn, output));
                if (done.size() == 1) {
                    System.out.println("ready"); // the ResourceManagers have had to start
                    failed = 0;
                } else {
                    work.waited("application", began, System.nanoTime());
                }
            } catch (IOException | YarnException | TimeoutException e) {
                failed++;
                System.out.println("application: " + e);
                TimeUnit.MILLISECONDS.sleep(500);
            }
        }
        int lost = 0, wrong = 0;
        for (ApplicationId id : done) {
            Path file = output.resolve(id.toString());
            wrong += Files.exists(file) && Files.readString(file).equals(id + "\n") ? 0 : 1;
            FinalApplicationStatus status = yarn.getApplicationReport(id).getFinalApplicationStatus();
            lost += status == FinalApplicationStatus.SUCCEEDED ? 0 : 1;
        }
        Work.check("applications", lost == 0 && wrong == 0,
            "%d succeeded, %d are not known to have, %d were not run once", done.size(), lost, wrong);
        Work.felt("applications that failed", failed);
        work.print();
        System.exit(0);
    }

    /** Submits an application, waits until its master may begin, and is its master. */
    static ApplicationId run(YarnClient yarn, Path output) throws Exception {
        long began = System.nanoTime();
        ApplicationSubmissionContext context = yarn.createApplication().getApplicationSubmissionContext();
        ApplicationId id = context.getApplicationId();
        context.setApplicationName("job");
        context.setUnmanagedAM(true);
        context.setResource(SIZE);
        context.setAMContainerSpec(running());
        yarn.submitApplication(context);
        while (yarn.getApplicationAttemptReport(yarn.getApplicationReport(id).getCurrentApplicationAttemptId())
            .getYarnApplicationAttemptState() != YarnApplicationAttemptState.LAUNCHED) {
            pause(began);
        }
        UserGroupInformation user = UserGroupInformation.createRemoteUser("job");
        user.addToken(yarn.getAMRMToken(id));
        user.doAs((PrivilegedExceptionAction<Void>) () -> {
            manage(id, output, began);
            return null;
        });
        return id;
    }

    /** Runs a container that adds a line to a file. */
    static void manage(ApplicationId id, Path output, long began) throws Exception {
        try (AMRMClient<ContainerRequest> master = AMRMClient.createAMRMClient();
            NMClient nodes = NMClient.createNMClient()) {
            master.init(conf);
            master.start();
            nodes.init(conf);
            nodes.start();
            master.registerApplicationMaster("localhost", 0, "");
            master.addContainerRequest(new ContainerRequest(SIZE, null, null, Priority.newInstance(0)));
            ContainerId started = null;
            for (boolean completed = false; !completed; pause(began)) {
                AllocateResponse response = master.allocate(0.5f);
                for (Container container : response.getAllocatedContainers()) {
                    if (started != null) { // a ResourceManager that takes over may give one more
                        master.releaseAssignedContainer(container.getId());
                        continue;
                    }
                    started = container.getId();
                    nodes.startContainer(container, running("echo " + id + " >>" + output.resolve(id.toString())));
                }
                for (ContainerStatus status : response.getCompletedContainersStatuses()) {
                    completed |= status.getContainerId().equals(started);
                }
            }
            master.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "", "");
        }
    }

    static ContainerLaunchContext running(String... commands) {
        return ContainerLaunchContext.newInstance(Map.of(), Map.of(), List.of(commands), Map.of(), null, Map.of());
    }

    static void pause(long began) throws InterruptedException, TimeoutException {
        if (System.nanoTime() - began > LIMIT) {
            throw new TimeoutException();
        }
        TimeUnit.MILLISECONDS.sleep(50);
    }
}
