package env

// ConfigError is returned by Start when the server cannot do what its configuration says, as long as that, and the
// files that it names, stay as they are. Its exit code is 2, that of a wrong configuration.
type ConfigError struct{ Err error }

// Error is the text of the cause.
func (e *ConfigError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// ExitCode is the process exit code.
func (e *ConfigError) ExitCode() int { return 2 }
