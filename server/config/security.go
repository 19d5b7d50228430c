package config

import "time"

// Secret is a password. It prints as stars, so that no log and no admin command shows it; convert it to string to
// use it.
type Secret string

// String hides the value; an empty secret is empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// MarshalText hides the value from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Security holds the settings of authentication and of permissions. Source: operations 8.
type Security struct {
	// SkipACL turns off every ACL check. Only the word "yes" does. Key skipACL; default no.
	SkipACL bool
	// SuperDigest is the digest id that passes every check: super:HASH, as `warren digest` prints it. Key
	// DigestAuthenticationProvider.superDigest; default none.
	SuperDigest string
	// DigestAlg is the hash of digest ids: SHA1, SHA-224, SHA-256, SHA-384, SHA-512 or MD5. Key
	// DigestAuthenticationProvider.digestAlg; default SHA1.
	DigestAlg string
	// DigestAuth offers the scheme digest. Key DigestAuthenticationProvider.enabled; default true.
	DigestAuth bool
	// EnforceAuth closes sessions that do not authenticate.
	EnforceAuth EnforceAuth
	// SessionRequireClientSASLAuth closes sessions that do not authenticate by SASL; the older form of
	// enforce.auth.schemes=sasl. Key sessionRequireClientSASLAuth; default false.
	SessionRequireClientSASLAuth bool
	// RequireClientAuth are the schemes of a key that many guides to SASL name. Neither ZooKeeper nor Warren requires
	// anything because of it: clients that have not authenticated are served. At startup, the server warns about a
	// scheme that no other key requires. Key requireClientAuthScheme; default none.
	RequireClientAuth []string
	// JavaRevocation tells a JVM to check whether certificates were revoked. In Warren ssl.crl and ssl.quorum.crl do
	// that, so it is refused where TLS is on without them. Key com.sun.net.ssl.checkRevocation; default false.
	JavaRevocation bool
	// AllowSASLFailedClients lets a client whose SASL exchange failed continue as anonymous. Key
	// allowSaslFailedClients; default false.
	AllowSASLFailedClients bool
	// AuthProviders are the authProvider.* lines whose class is known, in the order of their suffixes.
	AuthProviders []AuthProvider
	// SessionSecrets is a file with the secrets from which the passwords of sessions are made, one a line, the same
	// on every server. Without it the password of a session follows from its id by a constant of ZooKeeper's
	// protocol, so that a client that knows the id can take the session over. Key warren.sessionSecrets; default
	// none.
	SessionSecrets string
	// X509SuperUser is the subject that passes every check. Key X509AuthenticationProvider.superUser; default none.
	X509SuperUser string
	// X509ID is the part of a certificate that becomes the id of its client.
	X509ID X509ID
	// SSLAuthProvider is the scheme used after a TLS handshake. Key ssl.authProvider; default x509, the only one.
	SSLAuthProvider string
	// TLS is the key material for clients. Keys ssl.*.
	TLS TLS
	// ClientCertReload loads the key and trust stores again when they change. Key client.certReload; default
	// true, ZooKeeper's is false: a certificate that was renewed should be used before the old one expires.
	ClientCertReload bool
	// HandshakeLimit is how many TLS handshakes of clients may be in progress; further connections are closed at
	// once. Negative is no limit. Key netty.server.outstandingHandshake.limit; default 1000, ZooKeeper has none.
	HandshakeLimit int
	// FIPSMode refuses DIGEST-MD5 for quorum SASL if it is set explicitly, and has no other effect. Key
	// fips-mode; default true, which refuses nothing: configurations older than the key rely on DIGEST-MD5.
	FIPSMode bool
	// SASL is SASL for clients.
	SASL SASL
	// EnsembleAuthNames are the cluster names accepted by the scheme ensemble; empty accepts all. Key
	// ensembleAuthName.
	EnsembleAuthNames []string
	// IPUseXForwardedFor makes the scheme ip of the admin server believe X-Forwarded-For. Key
	// IPAuthenticationProvider.usexforwardedfor; default false.
	IPUseXForwardedFor bool
}

// X509ID is the part of a certificate that becomes the id of its client: the subject or, as an extension that
// some builds of ZooKeeper have, one of the alternative names. Warren's own.
type X509ID struct {
	// Type is SUBJECT or SAN. Key X509AuthenticationProvider.clientCertIdType; default SUBJECT.
	Type string
	// SANType is the kind of alternative name by its number in RFC 5280: 1 mail, 2 DNS, 6 URI, 7 address. Key
	// X509AuthenticationProvider.clientCertIdSanMatchType; default 6.
	SANType int
	// Match is the regular expression that exactly one name of that kind must match as a whole. Key
	// X509AuthenticationProvider.clientCertIdSanMatchRegex; default ".*".
	Match string
	// Extract is the regular expression whose match in that name is the id; empty is the whole name. Key
	// X509AuthenticationProvider.clientCertIdSanExtractRegex; default none.
	Extract string
	// Group is the group of Extract that is the id, 0 for the whole match. Key
	// X509AuthenticationProvider.clientCertIdSanExtractMatcherGroupIndex; default 0.
	Group int
}

// EnforceAuth closes sessions that do not authenticate with one of the schemes. Source: operations 8.4.
type EnforceAuth struct {
	// Enabled switches that on. Key enforce.auth.enabled; default false.
	Enabled bool
	// Schemes are the schemes of which one must be used. Key enforce.auth.schemes, comma separated; required when
	// enabled.
	Schemes []string
}

// AuthProvider is one authProvider.<suffix>=<class> line.
type AuthProvider struct {
	// Suffix is the text after "authProvider.".
	Suffix string
	// Scheme is the scheme of the class: sasl, x509, digest, ip or ensemble.
	Scheme string
}

// SASL is SASL for clients. Source: operations 8.4.
type SASL struct {
	// LoginConfig is the JAAS file, for clients and between servers. Key java.security.auth.login.config; default
	// none.
	LoginConfig string
	// KerberosConfig is the configuration of Kerberos. Key java.security.krb5.conf; default /etc/krb5.conf.
	KerberosConfig string
	// ServerSection is the section of the JAAS file for clients of this server. Key sasl.serverconfig; default
	// Server.
	ServerSection string
	// SuperPassword is the password of the user super. Key SASLAuthenticationProvider.superPassword; default none.
	SuperPassword Secret
	// AnyUser is the id of ACL entries that every SASL user matches; empty for none. Key letAnySaslUserDoX;
	// default none.
	AnyUser string
	// SuperUsers are principals that pass every check. Keys superUser and superUser.*.
	SuperUsers []string
	// RemoveHostFromPrincipal cuts the host off the id of a Kerberos principal. Key kerberos.removeHostFromPrincipal;
	// default false.
	RemoveHostFromPrincipal bool
	// RemoveRealmFromPrincipal cuts the realm off the id of a Kerberos principal. Key
	// kerberos.removeRealmFromPrincipal; default false.
	RemoveRealmFromPrincipal bool
	// AuthToLocal are the rules that give Kerberos principals short names. Key security.auth_to_local; default
	// DEFAULT, which is the first component of principals of the default realm.
	AuthToLocal string
}

// Store is a key store or trust store.
type Store struct {
	// Location is the file or, with a slash at its end, a folder. Warren's own: the folder has the files of a secret
	// of type kubernetes.io/tls, tls.crt and tls.key for a key store, ca.crt for a trust store, all PEM.
	Location string
	// Password is the password of the store.
	Password Secret
	// PasswordPath is a file with the password, which replaces Password.
	PasswordPath string
	// Type is PEM, PKCS12 or JKS; empty: from the extension of Location. BCFKS is refused.
	Type string
}

// TLS holds the settings of one TLS context. Source: operations 8.2.
type TLS struct {
	// KeyStore is the server's own key and chain.
	KeyStore Store
	// TrustStore is the store of the certificates that peers are checked against.
	TrustStore Store
	// Protocol is the one version of TLS; without it 1.2 and 1.3.
	Protocol string
	// EnabledProtocols are the versions of TLS; default the value of Protocol.
	EnabledProtocols []string
	// CipherSuites are the cipher suites, by their names in Java; without it, Go's defaults.
	CipherSuites []string
	// ClientAuth is whether the connecting side shows a certificate: none, want (it may) or need (it must); default
	// need.
	ClientAuth string
	// HostnameVerification checks the peer's certificate against its host name; default true.
	HostnameVerification bool
	// ClientHostnameVerification checks the connecting side too; default false for clients, true for the quorum.
	ClientHostnameVerification bool
	// AllowReverseDNSLookup permits looking up the name of an address; default false.
	AllowReverseDNSLookup bool
	// CRL checks the revocation lists in the trust store; default false.
	CRL bool
	// OCSP asks the issuer whether a certificate is revoked; Warren refuses to start with it; default false.
	OCSP bool
	// HandshakeDetectionTimeout is how long a port that takes TLS waits for the first byte; default 5s.
	HandshakeDetectionTimeout time.Duration
}
