// Package otelclient tests package client/otelclient on a server, with OpenTelemetry's SDK.
package otelclient
