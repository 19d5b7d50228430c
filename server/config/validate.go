package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Validate checks every bound and every rule between settings, as Load does, and returns all broken rules as
// Problems. It is for configurations that were changed or built in code; it reads no file. Source: operations
// 1.3.
func (c *Config) Validate() error {
	v := &validation{c: c, complete: true}
	v.run()
	return v.problems.err()
}

// validation collects the problems of one Config.
type validation struct {
	c        *Config
	complete bool            // dynamic file and myid have been read
	bad      map[string]bool // settings with a known problem: rules that involve them are left out
	problems Problems
	warnings Warnings
}

func (l *loader) validate() {
	v := &validation{c: l.c, complete: l.complete, bad: l.bad}
	v.run()
	l.problems = append(l.problems, v.problems...)
	l.warnings = append(l.warnings, v.warnings...)
}

// fail reports a broken rule between the given settings; the message names the first.
func (v *validation) fail(rule string, keys ...string) {
	if !slices.ContainsFunc(keys, func(k string) bool { return v.bad[k] }) {
		v.problems = append(v.problems, v.c.problem(keys[0], rule))
	}
}

// failIf is fail if the rule is broken.
func (v *validation) failIf(broken bool, rule string, keys ...string) {
	if broken {
		v.fail(rule, keys...)
	}
}

// warn reports a questionable value of the given setting.
func (v *validation) warn(text, key string) {
	if v.bad[key] {
		return
	}
	pos, given := v.c.origins[key]
	w := Warning{File: pos.file, Line: pos.line, Text: text}
	if given {
		w.Key = key
	}
	v.warnings = append(v.warnings, w)
}

func (v *validation) run() {
	for _, s := range v.c.settings() {
		if s.check == nil || v.bad[s.name()] {
			continue
		}
		if err := s.check(); err != nil {
			v.fail(s.name()+" "+err.Error(), s.name())
		}
	}
	v.validateServer()
	if v.complete || v.c.DynamicConfigFile == "" {
		v.validateMembers()
		v.validateListens()
	}
	v.validateAuth()
	v.validateQuorumAuth()
	v.validateTLS()
}

func (v *validation) validateServer() {
	c := v.c
	if c.DataDir == "" {
		is := "dataDir is not set"
		if c.Given("dataDir") {
			is = "has no value"
		}
		v.fail(is+": name the directory for snapshots and logs, as in dataDir=/var/lib/warren", "dataDir")
	}
	v.failIf(c.ClientPortAddress != "" && c.ClientPort == PortUnset,
		"clientPortAddress is set but clientPort is not set", "clientPortAddress", "clientPort")
	v.failIf(c.SecureClientPortAddress != "" && c.SecureClientPort == PortUnset,
		"secureClientPortAddress is set but secureClientPort is not set",
		"secureClientPortAddress", "secureClientPort")
	if c.ClientPort == PortUnset && c.SecureClientPort == PortUnset {
		v.warn("neither clientPort nor secureClientPort is set: no client can connect", "clientPort")
	}
	v.failIf(c.TickTime == 0, "tickTime must be more than 0", "tickTime")
	v.failIf(c.MinSessionTimeout > c.MaxSessionTimeout,
		fmt.Sprintf("minSessionTimeout must not be larger than maxSessionTimeout, which is %d",
			c.MaxSessionTimeout.Milliseconds()), "minSessionTimeout", "maxSessionTimeout", "tickTime")
	v.failIf(c.MinNotificationInterval > c.MaxNotificationInterval,
		"fastleader.minNotificationInterval must not be larger than fastleader.maxNotificationInterval",
		"fastleader.minNotificationInterval", "fastleader.maxNotificationInterval")
	v.failIf(!slices.Contains([]string{DefaultProvider, NullProvider, PrometheusProvider}, c.Metrics.ClassName),
		"there is no such provider of metrics: it must be "+NullProvider+", "+DefaultProvider+" or "+
			PrometheusProvider, "metricsProvider.className")
	m := &c.Metrics
	v.failIf(m.ClassName == PrometheusProvider && m.Port == PortUnset && m.HTTPSPort == PortUnset,
		"the port is missing: set metricsProvider.httpPort or metricsProvider.httpsPort", "metricsProvider.httpPort")
	if !c.ForceSync {
		v.warn("without forceSync, a crash of the machine loses writes that were acknowledged", "forceSync")
	}
	if c.SkipACL {
		v.warn("every ACL check is off", "skipACL")
	}
}

// digestAlgs are the names of hashes that both Java and Warren know, upper case. Java knows MD2, too.
var digestAlgs = []string{
	"MD5", "SHA", "SHA1", "SHA-1", "SHA-224", "SHA224", "SHA-256", "SHA256", "SHA-384", "SHA384", "SHA-512", "SHA512",
	"SHA-512/224", "SHA512/224", "SHA-512/256", "SHA512/256", "SHA3-224", "SHA3-256", "SHA3-384", "SHA3-512",
}

// validateAuth checks the schemes. Source: operations 8.1 and 8.4.
func (v *validation) validateAuth() {
	c := v.c
	v.failIf(!slices.Contains(digestAlgs, strings.ToUpper(c.DigestAlg)),
		fmt.Sprintf("%s MessageDigest not available", c.DigestAlg), "DigestAuthenticationProvider.digestAlg")
	if c.EnforceAuth.Enabled {
		v.failIf(len(c.EnforceAuth.Schemes) == 0,
			"enforce.auth.enabled is true, so enforce.auth.schemes must be configured",
			"enforce.auth.enabled", "enforce.auth.schemes")
		for _, scheme := range c.EnforceAuth.Schemes {
			v.failIf(!c.HasScheme(scheme), fmt.Sprintf("Authentication scheme %s is not available.", scheme),
				"enforce.auth.schemes")
		}
	}
	v.failIf(c.SSLAuthProvider != "x509", fmt.Sprintf("Auth provider not found: %s", c.SSLAuthProvider),
		"ssl.authProvider")
	v.validateX509ID()
	v.failIf(c.SessionRequireClientSASLAuth && !c.HasScheme("sasl"), "Authentication scheme sasl is not available.",
		"sessionRequireClientSASLAuth")
	v.validatePromises()
}

// Enforces reports whether the server closes the connections of clients that do not authenticate, and scheme is one
// of the schemes that it accepts.
func (c *Config) Enforces(scheme string) bool {
	return c.EnforceAuth.Enabled && slices.Contains(c.EnforceAuth.Schemes, scheme) ||
		scheme == "sasl" && c.SessionRequireClientSASLAuth
}

// validatePromises looks for settings that ask for protection that this server does not provide. It refuses those
// with which ZooKeeper protects, or with which no client could connect, and warns of those without effect in
// ZooKeeper.
func (v *validation) validatePromises() {
	c := v.c
	for _, scheme := range c.RequireClientAuth {
		if !c.Enforces(scheme) {
			v.warn(fmt.Sprintf("no server acts on this key, ZooKeeper neither: set enforce.auth.enabled=true and "+
				"enforce.auth.schemes=%s "+
				"to refuse clients that have not authenticated, or remove it", scheme), "requireClientAuthScheme")
		}
	}
	for _, p := range c.AuthProviders {
		if p.Scheme != "sasl" || c.SASL.LoginConfig != "" {
			continue
		}
		const text = "SASL needs the JAAS file: set java.security.auth.login.config here, or with -D in " +
			"SERVER_JVMFLAGS (java.env is not read)"
		if c.Enforces("sasl") {
			v.fail(text, "authProvider."+p.Suffix, "java.security.auth.login.config")
		} else {
			v.warn("no client can authenticate by SASL: "+text, "authProvider."+p.Suffix)
		}
	}
	clients := c.SecureClientPort != PortUnset || c.ClientPortUnification
	members := c.Distributed() && (c.SSLQuorum || c.PortUnification)
	v.failIf(c.JavaRevocation && (clients && !c.TLS.CRL || members && !c.QuorumTLS.CRL),
		"certificates are compared with revocation lists by ssl.crl=true and ssl.quorum.crl=true, with lists in the "+
			"trust store", "com.sun.net.ssl.checkRevocation")
}

// validateX509ID checks the expressions that pick an alternative name.
func (v *validation) validateX509ID() {
	const prefix = "X509AuthenticationProvider.clientCertIdSan"
	id := v.c.X509ID
	v.failIf(!slices.Contains([]int{1, 2, 6, 7}, id.SANType), "must be 1 (mail), 2 (DNS), 6 (URI) or 7 (address)",
		prefix+"MatchType")
	if _, err := regexp.Compile(id.Match); err != nil {
		v.fail("is no regular expression: "+err.Error(), prefix+"MatchRegex")
	}
	extract, err := regexp.Compile(id.Extract)
	switch {
	case err != nil:
		v.fail("is no regular expression: "+err.Error(), prefix+"ExtractRegex")
	case id.Group > extract.NumSubexp():
		v.fail(fmt.Sprintf("the expression has %d groups", extract.NumSubexp()),
			prefix+"ExtractMatcherGroupIndex")
	}
}

// HasScheme reports whether clients can authenticate with scheme. Source: operations 8.1.
func (c *Config) HasScheme(scheme string) bool {
	switch scheme {
	case "ip":
		return true
	case "digest":
		return c.DigestAuth
	case "x509":
		if c.SecureClientPort != PortUnset || c.ClientPortUnification {
			return true
		}
	}
	return slices.ContainsFunc(c.AuthProviders, func(p AuthProvider) bool { return p.Scheme == scheme })
}

// validateQuorumAuth checks the three switches of SASL between servers. Source: operations 8.5.
func (v *validation) validateQuorumAuth() {
	const enable, learner, server = "quorum.auth.enableSasl", "quorum.auth.learnerRequireSasl",
		"quorum.auth.serverRequireSasl"
	a := v.c.QuorumAuth
	needs := func(key string, required bool, missing string, present bool) {
		v.failIf(required && !present, fmt.Sprintf("needs %s=true", missing), key, missing)
	}
	needs(learner, a.LearnerRequireSASL, enable, a.EnableSASL)
	needs(server, a.ServerRequireSASL, enable, a.EnableSASL)
	if a.EnableSASL {
		needs(server, a.ServerRequireSASL, learner, a.LearnerRequireSASL)
	}
}

// validateTLS checks that every TLS listener has a key of a format that can be read.
func (v *validation) validateTLS() {
	c := v.c
	clients := c.SecureClientPort != PortUnset || c.ClientPortUnification
	members := c.Distributed() && (c.SSLQuorum || c.PortUnification)
	scrapers := c.Metrics.ClassName == PrometheusProvider && c.Metrics.HTTPSPort != PortUnset
	for _, at := range []struct {
		prefix, port string
		serves       bool
		key, trust   *Store
	}{
		{"ssl.", "the port of clients", clients, &c.TLS.KeyStore, &c.TLS.TrustStore},
		{"ssl.quorum.", "the ports of the other servers", members, &c.QuorumTLS.KeyStore, &c.QuorumTLS.TrustStore},
		{"metricsProvider.ssl.", "metricsProvider.httpsPort", scrapers, &c.Metrics.KeyStore, &c.Metrics.TrustStore},
	} {
		name := at.prefix + "keyStore.location"
		v.failIf(at.serves && at.key.Location == "", name+" is not set, and TLS at "+at.port+" needs it: name the "+
			"file with the certificate and its private key", name)
		v.checkFormat(at.prefix+"keyStore.", at.key)
		v.checkFormat(at.prefix+"trustStore.", at.trust)
	}
	const noOCSP = "OCSP is not supported: set %scrl=true, with lists in the trust store"
	v.failIf(c.TLS.OCSP, fmt.Sprintf(noOCSP, "ssl."), "ssl.ocsp")
	v.failIf(c.QuorumTLS.OCSP, fmt.Sprintf(noOCSP, "ssl.quorum."), "ssl.quorum.ocsp")
}

func (v *validation) checkFormat(prefix string, s *Store) {
	v.failIf(s.Location != "" && s.Format() == "",
		"the type is not given and the extension is not one of .jks, .pem, .p12, .pfx",
		prefix+"location", prefix+"type")
}

// IsFolder reports whether Location is a folder with the files of a secret of type kubernetes.io/tls: a key store is
// its tls.crt and tls.key, a trust store its ca.crt.
func (s *Store) IsFolder() bool { return strings.HasSuffix(s.Location, "/") }

// Format returns PEM, PKCS12 or JKS: Type, or the format for the extension of Location; "" if the extension is
// unknown. A folder is PEM.
func (s *Store) Format() string {
	if s.IsFolder() {
		return "PEM"
	}
	if s.Type != "" {
		return s.Type
	}
	switch strings.ToLower(filepath.Ext(s.Location)) {
	case ".pem":
		return "PEM"
	case ".p12", ".pfx":
		return "PKCS12"
	case ".jks":
		return "JKS"
	}
	return ""
}
