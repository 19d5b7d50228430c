import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;
import org.apache.dubbo.rpc.RpcException;

/** Calls providers until it reads "stop", and checks their answers. */
public class Job {
    static final int PROVIDERS = 2;
    /** How long, in nanoseconds, the provider that was killed has until it is called again. */
    static final long LIMIT = TimeUnit.SECONDS.toNanos(150);
    /** A run that has had fewer answers is none. */
    static final int LEAST = 500;

    public static void main(String[] args) throws Exception {
        Work work = new Work("a provider was killed");
        ReferenceConfig<Squares> reference = new ReferenceConfig<>();
        reference.setInterface(Squares.class);
        reference.setCheck(false);
        reference.setTimeout(2000);
        reference.setLoadbalance("roundrobin");
        reference.setParameters(Map.of("dubbo.application.least-reconnect-duration", "2000"));
        DubboBootstrap.getInstance().application(new ApplicationConfig("consumer"))
            .registry(new RegistryConfig(args[0])).reference(reference).start();
        Squares squares = reference.get();
        Map<String, Integer> answers = new HashMap<>(); // by process
        int calls = 0, failed = 0, wrong = 0;
        long last = 0, marked = 0, again = 0; // 0: not yet
        while (!work.stopped() || calls < LEAST || again == 0 && System.nanoTime() - marked < LIMIT) {
            if (work.marked() && marked == 0) {
                marked = System.nanoTime();
            }
            try {
                String[] answer = squares.square(calls).split(" ");
                long now = System.nanoTime();
                wrong += Long.parseLong(answer[1]) == (long) calls * calls ? 0 : 1;
                calls++;
                answers.merge(answer[0], 1, Integer::sum);
                if (last != 0) {
                    work.waited("time without an answer", last, now);
                    last = now;
                } else if (answers.size() == PROVIDERS) {
                    System.out.println("ready");
                    last = now;
                }
                if (answers.size() > PROVIDERS && again == 0) {
                    again = now;
                }
            } catch (RpcException e) {
                failed += last == 0 ? 0 : 1;
                System.out.println(e.getMessage());
            }
            TimeUnit.MILLISECONDS.sleep(20);
        }
        Work.check("answers", wrong == 0, "%d, %d of them wrong", calls, wrong);
        Work.check("providers", again > 0, "%d processes have answered", answers.size());
        Work.felt("calls that failed", failed);
        Work.felt("time until the provider that was killed was called again",
            String.format("%.1f s", (again - marked) / 1e9));
        work.print();
        System.exit(0);
    }
}
