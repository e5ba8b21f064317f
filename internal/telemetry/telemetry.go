// Package telemetry creates the logger, the metrics registry and the tracer of the service. Nothing is registered globally.
package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.26.0"
)

// Logger returns a logger that writes to w. level is the least level that it logs: debug, info, warn or error. format is text or json. It
// redacts secrets in messages and attributes. Any other level or format is an error.
func Logger(w io.Writer, level, format string) (*slog.Logger, error) {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, fmt.Errorf("log level %q: want debug, info, warn or error", level)
	}
	o := &slog.HandlerOptions{Level: least, ReplaceAttr: redactAttr}
	switch format {
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	}
	return nil, fmt.Errorf("log format %q: want text or json", format)
}

// secretNames are names of attributes, or their ends after - or _, whose values are never logged. This protects callers that forget to
// redact them.
var secretNames = []string{"pin", "token", "password", "secret", "authorization", "api-key", "apikey", "joincode", "join_code"}

// secretText matches secrets by their format anywhere in a text: Latchkey's tokens and keys, and credentials in URLs.
var secretText = regexp.MustCompile(`\b(lk[a-z]_|lkkek_)[A-Za-z0-9_-]{8,}|([?&](?:token|access_token|password)=)[^&\s"]+|(://[^/:@\s"]*:)[^/@\s"]+(@)`)

// redactAttr redacts an attribute before it is logged: all of its value if its name is that of a secret, otherwise the secrets in a text,
// an error or a [fmt.Stringer]. It leaves values of other types unchanged.
func redactAttr(_ []string, a slog.Attr) slog.Attr {
	name := strings.ToLower(a.Key)
	for _, s := range secretNames {
		if before, ok := strings.CutSuffix(name, s); ok && (before == "" || strings.HasSuffix(before, "-") || strings.HasSuffix(before, "_")) {
			return slog.String(a.Key, "[redacted]")
		}
	}
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(scrub(a.Value.String()))
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case error:
			a.Value = slog.StringValue(scrub(v.Error()))
		case fmt.Stringer:
			a.Value = slog.StringValue(scrub(v.String()))
		}
	}
	return a
}

// scrub replaces the secrets in a text by [redacted]. It keeps their prefixes, such as lkp_, which show the kind of secret.
func scrub(text string) string {
	if !strings.Contains(text, "lk") && !strings.ContainsAny(text, "?&@") {
		return text
	}
	return secretText.ReplaceAllString(text, "$1$2$3[redacted]$4")
}

// Registry returns a metrics registry with the collectors of the process and of Go.
func Registry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Tracing returns a provider that sends traces to the OTLP address url over gRPC. An address that cannot be reached is no error. It samples
// one in ten of the traces that start here, and otherwise follows the caller's decision. The caller must shut it down to send the last
// traces.
func Tracing(ctx context.Context, url, version string) (*trace.TracerProvider, error) {
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(url))
	if err != nil {
		return nil, fmt.Errorf("send traces to %s: %w", url, err)
	}
	about := resource.NewSchemaless(semconv.ServiceName("latchkey"), semconv.ServiceVersion(version))
	return trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about),
		trace.WithSampler(trace.ParentBased(trace.TraceIDRatioBased(0.1)))), nil
}
