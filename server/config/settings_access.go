package config

import (
	"fmt"
	"math"
	"time"
)

func (s *Security) settings() []setting {
	all := []setting{
		propertyKey(onlyWord(&s.SkipACL, "yes", true, "no"), "skipACL"),
		secretKey(superDigest(&s.SuperDigest), "DigestAuthenticationProvider.superDigest"),
		propertyKey(words(&s.DigestAlg), "DigestAuthenticationProvider.digestAlg"),
		propertyKey(lax(&s.DigestAuth), "DigestAuthenticationProvider.enabled"),
		propertyKey(lax(&s.EnforceAuth.Enabled), "enforce.auth.enabled"),
		propertyKey(list(&s.EnforceAuth.Schemes), "enforce.auth.schemes"),
		propertyKey(lax(&s.SessionRequireClientSASLAuth), "sessionRequireClientSASLAuth"),
		propertyKey(list(&s.RequireClientAuth), "requireClientAuthScheme"),
		bareKey(lax(&s.JavaRevocation), "com.sun.net.ssl.checkRevocation", "com.sun.security.enableCRLDP"),
		propertyKey(lax(&s.AllowSASLFailedClients), "allowSaslFailedClients"),
		nativeKey(words(&s.SessionSecrets), "warren.sessionSecrets"),
		propertyKey(words(&s.X509SuperUser), "X509AuthenticationProvider.superUser"),
		propertyKey(choice(&s.X509ID.Type, "SUBJECT", "SAN"), "X509AuthenticationProvider.clientCertIdType"),
		propertyKey(count(&s.X509ID.SANType, 0), "X509AuthenticationProvider.clientCertIdSanMatchType"),
		propertyKey(words(&s.X509ID.Match), "X509AuthenticationProvider.clientCertIdSanMatchRegex"),
		propertyKey(words(&s.X509ID.Extract), "X509AuthenticationProvider.clientCertIdSanExtractRegex"),
		propertyKey(count(&s.X509ID.Group, 0), "X509AuthenticationProvider.clientCertIdSanExtractMatcherGroupIndex"),
		propertyKey(words(&s.SSLAuthProvider), "ssl.authProvider"),
		propertyKey(lax(&s.ClientCertReload), "client.certReload"),
		propertyKey(count(&s.HandshakeLimit, -1), "netty.server.outstandingHandshake.limit"),
		propertyKey(lax(&s.FIPSMode), "fips-mode"),
		propertyKey(list(&s.EnsembleAuthNames), "ensembleAuthName"),
		propertyKey(lax(&s.IPUseXForwardedFor), "IPAuthenticationProvider.usexforwardedfor"),
		bareKey(words(&s.SASL.LoginConfig), "java.security.auth.login.config"),
		bareKey(words(&s.SASL.KerberosConfig), "java.security.krb5.conf"),
		propertyKey(words(&s.SASL.ServerSection), "sasl.serverconfig"),
		propertyKey(words(&s.SASL.AnyUser), "letAnySaslUserDoX"),
		secretKey(words(&s.SASL.SuperPassword), "SASLAuthenticationProvider.superPassword"),
		propertyKey(lax(&s.SASL.RemoveHostFromPrincipal), "kerberos.removeHostFromPrincipal"),
		propertyKey(lax(&s.SASL.RemoveRealmFromPrincipal), "kerberos.removeRealmFromPrincipal"),
		propertyKey(words(&s.SASL.AuthToLocal), "security.auth_to_local"),
	}
	return append(all, s.TLS.settings("ssl.")...)
}

// superDigest reads super:<base64>. Source: operations 8.1.
func superDigest(field *string) parser {
	return parser{parse: func(text string) (string, error) {
		*field = text
		if len(text) < 7 || text[:6] != "super:" {
			return "does not have the form super:<base64 hash>, nobody can be the super user", nil
		}
		return "", nil
	}}
}

// settings binds the keys of one TLS context. Source: operations 8.2.
func (t *TLS) settings(prefix string) []setting {
	all := []setting{
		propertyKey(words(&t.Protocol), "protocol"),
		propertyKey(list(&t.EnabledProtocols), "enabledProtocols"),
		propertyKey(list(&t.CipherSuites), "ciphersuites"),
		propertyKey(choice(&t.ClientAuth, "none", "want", "need"), "clientAuth"),
		propertyKey(lax(&t.HostnameVerification), "hostnameVerification"),
		propertyKey(lax(&t.ClientHostnameVerification), "clientHostnameVerification"),
		propertyKey(lax(&t.AllowReverseDNSLookup), "allowReverseDnsLookup"),
		propertyKey(lax(&t.CRL), "crl"),
		propertyKey(lax(&t.OCSP), "ocsp"),
		propertyKey(millis(&t.HandshakeDetectionTimeout, 1), "handshakeDetectionTimeoutMillis"),
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
		{keys: []string{prefix + "location"}, kind: k, parser: words(&s.Location)},
		{keys: []string{prefix + "password"}, kind: k, parser: words(&s.Password), secret: true},
		{keys: []string{prefix + "passwordPath"}, kind: k, parser: words(&s.PasswordPath)},
		{keys: []string{prefix + "type"}, kind: k, parser: storeType(&s.Type)},
	}
}

// storeType reads the format of a key store. BCFKS needs a Java library.
func storeType(field *string) parser {
	p := choice(field, "", "PEM", "PKCS12", "JKS", "BCFKS")
	return parser{parse: p.parse, check: func() error {
		if *field == "BCFKS" {
			return rule("BCFKS stores cannot be read, use PEM, PKCS12 or JKS")
		}
		return p.check()
	}}
}

// refused is for keys whose effect Warren does not have, and without which no server should start.
func refused(text string) parser {
	return parser{parse: func(string) (string, error) { return "", rulef("%s", text) }}
}

func (a *Admin) settings() []setting {
	return []setting{
		propertyKey(onlyWord(&a.Enabled, "false", false, "true"), "admin.enableServer"),
		propertyKey(words(&a.Address), "admin.serverAddress"),
		propertyKey(port(&a.Port), "admin.serverPort"),
		propertyKey(millis(&a.IdleTimeout, 0), "admin.idleTimeout"),
		propertyKey(urlPrefix(&a.CommandURL), "admin.commandURL"),
		propertyKey(httpVersion(&a.HTTPVersion), "admin.httpVersion"),
		propertyKey(lax(&a.PortUnification), "admin.portUnification"),
		propertyKey(lax(&a.ForceHTTPS), "admin.forceHttps"),
		propertyKey(lax(&a.NeedClientAuth), "admin.needClientAuth"),
		propertyKey(longMillis(&a.RateLimiterInterval, 0), "admin.rateLimiterIntervalInMS"),
		propertyKey(lax(&a.SnapshotEnabled), "admin.snapshot.enabled"),
		propertyKey(lax(&a.RestoreEnabled), "admin.restore.enabled"),
		nativeKey(strict(&a.PProf, "warren.pprof"), "warren.pprof"),
	}
}

// urlPrefix reads an absolute URL path without a slash at its end.
func urlPrefix(field *string) parser {
	check := func() error {
		if len(*field) < 2 || (*field)[0] != '/' || (*field)[len(*field)-1] == '/' {
			return rule("must start with a slash and not end with one")
		}
		return nil
	}
	return parser{check: check, parse: func(text string) (string, error) {
		before := *field
		*field = text
		if err := check(); err != nil {
			*field = before
			return "", err
		}
		return "", nil
	}}
}

func httpVersion(field *int) parser {
	p := whole(field, 10, 20)
	check := func() error {
		if v := *field; v != 10 && v != 11 && v != 20 {
			return rule("must be 10, 11 or 20")
		}
		return nil
	}
	return parser{check: check, parse: func(text string) (string, error) {
		before := *field
		_, err := p.parse(text)
		if err == nil {
			err = check()
		}
		if err != nil {
			*field = before
		}
		return "", err
	}}
}

func (m *Metrics) settings() []setting {
	all := []setting{
		nativeKey(words(&m.ClassName), "metricsProvider.className"),
		nativeKey(words(&m.Host), "metricsProvider.httpHost"),
		nativeKey(exporterPort(&m.Port), "metricsProvider.httpPort"),
		nativeKey(exporterPort(&m.HTTPSPort), "metricsProvider.httpsPort"),
		nativeKey(lax(&m.ExportRuntimeInfo), "metricsProvider.exportJvmInfo"),
		nativeKey(times(&m.SummaryRotateInterval, time.Second, 1, math.MaxInt32),
			"metricsProvider.prometheusMetricsSummaryRotateIntervalSeconds"),
		nativeKey(lax(&m.NeedClientAuth), "metricsProvider.ssl.need.client.auth"),
		nativeKey(lax(&m.WantClientAuth), "metricsProvider.ssl.want.client.auth"),
		nativeKey(list(&m.EnabledProtocols), "metricsProvider.ssl.enabledProtocols"),
		nativeKey(list(&m.CipherSuites), "metricsProvider.ssl.ciphersuites"),
	}
	all = append(all, m.KeyStore.settings("metricsProvider.ssl.keyStore.", native)...)
	return append(all, m.TrustStore.settings("metricsProvider.ssl.trustStore.", native)...)
}

// exporterPort is port with -1 for off.
func exporterPort(field *int) parser {
	p := port(field)
	return parser{check: p.check, parse: func(text string) (string, error) {
		if n, err := parseNumber(text); err == nil && n == -1 {
			*field = PortUnset
			return "", nil
		}
		return p.parse(text)
	}}
}

func (a *Audit) settings() []setting {
	return []setting{
		propertyKey(lax(&a.Enabled), "audit.enable"),
		propertyKey(words(&a.File), "audit.file"),
		propertyKey(auditClass(&a.ImplClass), "audit.impl.class"),
	}
}

// auditLogger is the only class of audit log.
const auditLogger = "org.apache.zookeeper.audit.Slf4jAuditLogger"

func auditClass(field *string) parser {
	return parser{parse: func(text string) (string, error) {
		*field = text
		if text != auditLogger {
			return fmt.Sprintf("Java class %s is not used, the audit log has its usual form", text), nil
		}
		return "", nil
	}}
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
