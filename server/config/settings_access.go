package config

import (
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"
)

func (s *Security) settings() []setting {
	all := []setting{
		propertyKey(onlyWord(&s.SkipACL, "yes", true, "no"), "skipACL"),
		secretKey(superDigest(&s.SuperDigest), "DigestAuthenticationProvider.superDigest"),
		propertyKey(words(&s.DigestAlg, "SHA1"), "DigestAuthenticationProvider.digestAlg"),
		propertyKey(lax(&s.DigestAuth, true), "DigestAuthenticationProvider.enabled"),
		propertyKey(lax(&s.EnforceAuth.Enabled, false), "enforce.auth.enabled"),
		propertyKey(list(&s.EnforceAuth.Schemes), "enforce.auth.schemes"),
		propertyKey(lax(&s.SessionRequireClientSASLAuth, false), "sessionRequireClientSASLAuth"),
		propertyKey(list(&s.RequireClientAuth), "requireClientAuthScheme"),
		bareKey(lax(&s.JavaRevocation, false), "com.sun.net.ssl.checkRevocation", "com.sun.security.enableCRLDP"),
		propertyKey(lax(&s.AllowSASLFailedClients, false), "allowSaslFailedClients"),
		nativeKey(words(&s.SessionSecrets, ""), "warren.sessionSecrets"),
		propertyKey(words(&s.X509SuperUser, ""), "X509AuthenticationProvider.superUser"),
		propertyKey(choice(&s.X509ID.Type, "SUBJECT", "SAN"), "X509AuthenticationProvider.clientCertIdType"),
		propertyKey(count(&s.X509ID.SANType, 6, 0), "X509AuthenticationProvider.clientCertIdSanMatchType"),
		propertyKey(words(&s.X509ID.Match, ".*"), "X509AuthenticationProvider.clientCertIdSanMatchRegex"),
		propertyKey(words(&s.X509ID.Extract, ""), "X509AuthenticationProvider.clientCertIdSanExtractRegex"),
		propertyKey(count(&s.X509ID.Group, 0, 0),
			"X509AuthenticationProvider.clientCertIdSanExtractMatcherGroupIndex"),
		propertyKey(words(&s.SSLAuthProvider, "x509"), "ssl.authProvider"),
		propertyKey(lax(&s.ClientCertReload, true), "client.certReload"),
		propertyKey(count(&s.HandshakeLimit, 1000, -1), "netty.server.outstandingHandshake.limit"),
		propertyKey(lax(&s.FIPSMode, true), "fips-mode"),
		propertyKey(list(&s.EnsembleAuthNames), "ensembleAuthName"),
		propertyKey(lax(&s.IPUseXForwardedFor, false), "IPAuthenticationProvider.usexforwardedfor"),
		bareKey(words(&s.SASL.LoginConfig, ""), "java.security.auth.login.config"),
		bareKey(words(&s.SASL.KerberosConfig, ""), "java.security.krb5.conf"),
		propertyKey(words(&s.SASL.ServerSection, "Server"), "sasl.serverconfig"),
		propertyKey(words(&s.SASL.AnyUser, ""), "letAnySaslUserDoX"),
		secretKey(words(&s.SASL.SuperPassword, ""), "SASLAuthenticationProvider.superPassword"),
		propertyKey(lax(&s.SASL.RemoveHostFromPrincipal, false), "kerberos.removeHostFromPrincipal"),
		propertyKey(lax(&s.SASL.RemoveRealmFromPrincipal, false), "kerberos.removeRealmFromPrincipal"),
		propertyKey(words(&s.SASL.AuthToLocal, ""), "security.auth_to_local"),
	}
	return append(all, s.TLS.settings("ssl.", false)...)
}

// superDigest reads super:<base64>. Source: operations 8.1.
func superDigest(field *string) parser {
	return parserOf(field, "", func(text string) (_, warning string, err error) {
		if len(text) < 7 || text[:6] != "super:" {
			warning = "does not have the form super:HASH, so no client can be the super user: warren digest " +
				"super:PASSWORD prints it"
		}
		return text, warning, nil
	}, nil)
}

// settings binds the keys of one TLS context. verifyClients is the default of clientHostnameVerification. Source:
// operations 8.2.
func (t *TLS) settings(prefix string, verifyClients bool) []setting {
	all := []setting{
		propertyKey(words(&t.Protocol, ""), "protocol"),
		propertyKey(list(&t.EnabledProtocols), "enabledProtocols"),
		propertyKey(list(&t.CipherSuites), "ciphersuites"),
		propertyKey(choice(&t.ClientAuth, "need", "want", "none"), "clientAuth"),
		propertyKey(lax(&t.HostnameVerification, true), "hostnameVerification"),
		propertyKey(lax(&t.ClientHostnameVerification, verifyClients), "clientHostnameVerification"),
		propertyKey(lax(&t.AllowReverseDNSLookup, false), "allowReverseDnsLookup"),
		propertyKey(lax(&t.CRL, false), "crl"),
		propertyKey(lax(&t.OCSP, false), "ocsp"),
		propertyKey(millis(&t.HandshakeDetectionTimeout, 5*time.Second, 1), "handshakeDetectionTimeoutMillis"),
		propertyKey(refused("a Java class cannot supply the TLS context"), "context.supplier.class"),
	}
	for i := range all {
		all[i].keys[0] = prefix + all[i].keys[0]
	}
	all = append(all, t.KeyStore.settings(prefix+"keyStore.", passthrough)...)
	return append(all, t.TrustStore.settings(prefix+"trustStore.", passthrough)...)
}

func (s *Store) settings(prefix string, k kind) []setting {
	return []setting{
		{keys: []string{prefix + "location"}, kind: k, parser: words(&s.Location, "")},
		{keys: []string{prefix + "password"}, kind: k, parser: words(&s.Password, ""), secret: true},
		{keys: []string{prefix + "passwordPath"}, kind: k, parser: words(&s.PasswordPath, "")},
		{keys: []string{prefix + "type"}, kind: k, parser: storeType(&s.Type)},
	}
}

// storeType reads the format of a key store. BCFKS needs a Java library.
func storeType(field *string) parser {
	p := choice(field, "", "PEM", "PKCS12", "JKS", "BCFKS")
	known := p.check
	p.check = func() error {
		if *field == "BCFKS" {
			return rule("BCFKS stores cannot be read, use PEM, PKCS12 or JKS")
		}
		return known()
	}
	return p
}

// refused is for keys whose effect Warren does not have, and without which no server should start.
func refused(text string) parser {
	return parser{parse: func(string) (string, error) { return "", rulef("%s", text) }}
}

func (a *Admin) settings() []setting {
	return []setting{
		propertyKey(onlyWord(&a.Enabled, "false", false, "true"), "admin.enableServer"),
		propertyKey(bindAddress(&a.Address, "0.0.0.0"), "admin.serverAddress"),
		propertyKey(port(&a.Port, 8080), "admin.serverPort"),
		propertyKey(millis(&a.IdleTimeout, 30*time.Second, 0), "admin.idleTimeout"),
		propertyKey(urlPrefix(&a.CommandURL, "/commands"), "admin.commandURL"),
		propertyKey(httpVersion(&a.HTTPVersion, 11), "admin.httpVersion"),
		propertyKey(lax(&a.PortUnification, false), "admin.portUnification"),
		propertyKey(lax(&a.ForceHTTPS, false), "admin.forceHttps"),
		propertyKey(lax(&a.NeedClientAuth, false), "admin.needClientAuth"),
		propertyKey(longMillis(&a.RateLimiterInterval, 5*time.Minute, 0), "admin.rateLimiterIntervalInMS"),
		propertyKey(lax(&a.SnapshotEnabled, true), "admin.snapshot.enabled"),
		propertyKey(lax(&a.RestoreEnabled, true), "admin.restore.enabled"),
		strictKey(&a.PProf, false, "warren.pprof"),
		strictKey(&a.Console, true, "warren.console.enabled"),
		strictKey(&a.ConsoleWrites, false, "warren.console.writes"),
		strictKey(&a.ConsoleLinks, false, "warren.console.links"),
		nativeKey(words(&a.ConsoleName, ""), "warren.console.name"),
		nativeKey(ensembles(&a.ConsoleEnsembles), "warren.console.ensembles"),
		nativeKey(list(&a.ConsoleBackups), "warren.console.backups"),
		strictKey(&a.Top, false, "warren.top.enabled"),
	}
}

// ensemblesMax is how many other ensembles the console asks.
const ensemblesMax = 50

// ensembles reads names with the addresses of admin servers.
func ensembles(field *[]string) parser {
	return parserOf(field, nil, func(text string) ([]string, string, error) { return listed(text), "", nil },
		func(all []string) error {
			if len(all) > ensemblesMax {
				return rulef("must be at most %d", ensemblesMax)
			}
			for _, one := range all {
				name, address, ok := strings.Cut(one, "=")
				u, err := url.Parse(address)
				if !ok || name == "" || err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
					u.User != nil || u.RawQuery != "" || u.Fragment != "" {
					return rule("must be name=http://host:port, separated by commas")
				}
			}
			return nil
		})
}

// urlPrefix reads an absolute URL path without a slash at its end.
func urlPrefix(field *string, def string) parser {
	return wordsThat(func(text string) error {
		if len(text) < 2 || text[0] != '/' || text[len(text)-1] == '/' {
			return rule("must start with a slash and not end with one")
		}
		return nil
	}, field, def)
}

func httpVersion(field *int, def int) parser {
	return parserOf(field, def, func(text string) (int, string, error) {
		n, err := numberWithin(text, 10, 20)
		return int(n), "", err
	}, func(v int) error {
		if v != 10 && v != 11 && v != 20 {
			return rule("must be 10, 11 or 20")
		}
		return nil
	})
}

func (m *Metrics) settings() []setting {
	all := []setting{
		nativeKey(words(&m.ClassName, DefaultProvider), "metricsProvider.className"),
		nativeKey(bindAddress(&m.Host, "0.0.0.0"), "metricsProvider.httpHost"),
		nativeKey(exporterPort(&m.Port, 7000), "metricsProvider.httpPort"),
		nativeKey(exporterPort(&m.HTTPSPort, PortUnset), "metricsProvider.httpsPort"),
		nativeKey(choice(&m.NamesStyle, NamesOf39, NamesOf310, NamesOfBoth), "metricsProvider.namesStyle"),
		nativeKey(lax(&m.ExportRuntimeInfo, true), "metricsProvider.exportJvmInfo"),
		nativeKey(times(&m.SummaryRotateInterval, time.Minute, time.Second, 1, math.MaxInt32),
			"metricsProvider.prometheusMetricsSummaryRotateIntervalSeconds"),
		nativeKey(lax(&m.NeedClientAuth, true), "metricsProvider.ssl.need.client.auth"),
		nativeKey(lax(&m.WantClientAuth, true), "metricsProvider.ssl.want.client.auth"),
		nativeKey(list(&m.EnabledProtocols), "metricsProvider.ssl.enabledProtocols"),
		nativeKey(list(&m.CipherSuites), "metricsProvider.ssl.ciphersuites"),
	}
	all = append(all, m.KeyStore.settings("metricsProvider.ssl.keyStore.", native)...)
	return append(all, m.TrustStore.settings("metricsProvider.ssl.trustStore.", native)...)
}

// exporterPort is port with -1 for off.
func exporterPort(field *int, def int) parser {
	return replacing(port(field, def), -1, -1, field, PortUnset)
}

func (a *Audit) settings() []setting {
	return []setting{
		propertyKey(lax(&a.Enabled, false), "audit.enable"),
		propertyKey(words(&a.File, "zookeeper_audit.log"), "audit.file"),
		propertyKey(auditClass(&a.ImplClass), "audit.impl.class"),
	}
}

// auditLogger is the only class of audit log.
const auditLogger = "org.apache.zookeeper.audit.Slf4jAuditLogger"

func auditClass(field *string) parser {
	return parserOf(field, "", func(text string) (_, warning string, err error) {
		if text != auditLogger {
			warning = fmt.Sprintf("Java class %s is not used, the audit log has its usual form", text)
		}
		return text, warning, nil
	}, nil)
}

func (l *Log) settings() []setting {
	return []setting{
		nativeKey(choice(&l.Level, "info", "debug", "warn", "error"), "warren.logLevel"),
		nativeKey(choice(&l.Format, "console", "json"), "warren.logFormat"),
	}
}

func (p *Process) settings() []setting {
	return []setting{nativeKey(choice(&p.Scheduling, "batch", "normal"), "warren.scheduling")}
}
