package io.github.seed94657493.warren.test;

import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ExtensionContext.Store.CloseableResource;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolutionException;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Passes a {@link WarrenTestServer} to tests and to the methods that set them up: one for each test class, stopped
 * after the class.
 *
 * <pre>{@code
 * @ExtendWith(WarrenExtension.class)
 * class MyTest {
 *     @Test
 *     void connects(WarrenTestServer server) {
 *         ... server.connectString() ...
 *     }
 * }
 * }</pre>
 */
public final class WarrenExtension implements ParameterResolver {
    private static final Namespace NAMESPACE = Namespace.create(WarrenExtension.class);

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == WarrenTestServer.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return ofClass(context).getStore(NAMESPACE).getOrComputeIfAbsent("server", key -> new Running(),
            Running.class).server;
    }

    /** The context of the outermost test class: nested classes share its server. */
    private static ExtensionContext ofClass(ExtensionContext context) {
        ExtensionContext c = context;
        while (c.getParent().isPresent() && c.getParent().get() != c.getRoot()) {
            c = c.getParent().get();
        }
        return c;
    }

    /** A server that JUnit closes together with the context that stores it. */
    private static final class Running implements CloseableResource {
        final WarrenTestServer server;

        Running() {
            try {
                server = WarrenTestServer.start();
            } catch (java.io.IOException e) {
                throw new ParameterResolutionException("no Warren server for the test", e);
            }
        }

        @Override
        public void close() {
            server.close();
        }
    }
}
