package config

import (
	"fmt"
	"slices"
	"strings"
)

// family is a set of keys that share a prefix and have a free part.
type family struct {
	prefix string
	kind   kind
	// add takes one key of the family. The suffix is the part after prefix.
	add func(suffix, value string) (warning string, err error)
}

// families returns every family whose keys may be given in every source. Member lines are not among them: they
// may also come from a dynamic file.
func (c *Config) families() []family {
	return []family{
		{"authProvider.", passthrough, c.addAuthProvider},
		{"superUser", passthrough, c.addSuperUser},
	}
}

// authSchemes maps each built-in provider class to its scheme. Source: operations 8.1.
var authSchemes = map[string]string{
	"SASLAuthenticationProvider":     "sasl",
	"X509AuthenticationProvider":     "x509",
	"DigestAuthenticationProvider":   "digest",
	"IPAuthenticationProvider":       "ip",
	"EnsembleAuthenticationProvider": "ensemble",
}

const authPackage = "org.apache.zookeeper.server.auth."

func (c *Config) addAuthProvider(suffix, class string) (string, error) {
	name := strings.TrimPrefix(class, authPackage)
	if name == "KeyAuthenticationProvider" {
		return "", rulef("%s is a demonstration and is refused", class)
	}
	scheme, ok := authSchemes[name]
	if !ok {
		return fmt.Sprintf("provider class %s is not known and is ignored", class), nil
	}
	c.AuthProviders = append(c.AuthProviders, AuthProvider{Suffix: suffix, Scheme: scheme})
	slices.SortFunc(c.AuthProviders, func(a, b AuthProvider) int { return strings.Compare(a.Suffix, b.Suffix) })
	return "", nil
}

func (c *Config) addSuperUser(suffix, principal string) (string, error) {
	if suffix != "" && suffix[0] != '.' {
		return "does not have the form superUser or superUser.<suffix> and has no effect", nil
	}
	if !slices.Contains(c.SASL.SuperUsers, principal) {
		c.SASL.SuperUsers = append(c.SASL.SuperUsers, principal)
		slices.Sort(c.SASL.SuperUsers)
	}
	return "", nil
}

// withoutEffect are keys that are accepted and have no effect: they tune internals of a Java server. A key that
// ends in a star stands for all keys with that beginning. Source: operations 1.5.
var withoutEffect = []string{
	"quorum.cnxn.threads.size", "jvm.pause.*",
	"maxResponseCacheSize", "maxGetChildrenResponseCacheSize",
	"watchManagerName", "watcherCleanThreadsNum", "watcherCleanThreshold", "watcherCleanIntervalInSeconds",
	"maxInProcessingDeadWatchers", "bitHashCacheSize",
	"pathStats.*", "messageTracker.*", "intBufferStartingSizeBytes",
	"learner.asyncSending", "learner.closeSocketAsync", "leader.closeSocketAsync",
	"forward_learner_requests_to_commit_processor_disabled", "follower.skipLearnerRequestToNextProcessor",
	"commitProcessor.*",
	"serverCnxnFactory", "nio.numSelectorThreads", "nio.numWorkerThreads", "nio.directBufferBytes",
	"nio.shutdownTimeout", "netty.server.earlyDropSecureConnectionHandshakes", "netty.advancedFlowControl.enabled",
	"metricsProvider.numWorkerThreads", "metricsProvider.maxQueueSize", "metricsProvider.workerShutdownTimeoutMs",
	"kerberos.*",
	"jmx.*", "com.sun.management*", "java.*", "javax.*", "sun.*", "kinit*", "log4j*", "logback*",
	"log.dir", "log.file", "root.logger", "console.threshold", "log.threshold", "log.maxfilesize",
	"log.maxbackupindex",
}

// hasNoEffect reports whether key, without its prefix "zookeeper.", is one of withoutEffect.
func hasNoEffect(key string) bool {
	return slices.ContainsFunc(withoutEffect, func(pattern string) bool {
		if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
			return strings.HasPrefix(key, prefix)
		}
		return key == pattern
	})
}
