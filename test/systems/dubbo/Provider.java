import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.ServiceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;

/** A provider, at the port of its second argument. */
public class Provider {
    public static void main(String[] args) throws Exception {
        ServiceConfig<Squares> service = new ServiceConfig<>();
        service.setInterface(Squares.class);
        service.setRef(number -> ProcessHandle.current().pid() + " " + (long) number * number);
        ProtocolConfig protocol = new ProtocolConfig("dubbo", Integer.parseInt(args[1]));
        protocol.setHeartbeat(2000);
        DubboBootstrap.getInstance().application(new ApplicationConfig("provider")).protocol(protocol)
            .registry(new RegistryConfig(args[0])).service(service).start().await();
    }
}
