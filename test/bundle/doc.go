// Command bundle writes the console's application: it installs the packages of its lock file with npm, and bundles
// its sources with esbuild's Go module. What it writes is checked in, so that neither Node.js nor esbuild is needed to
// build Warren. The test bundles again and compares.
package main
