package server

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"latchkey.dev/internal/db"
)

// Database is the server's database.
func (s *Server) Database() *db.DB { return s.db }

// LogTraceErrors has OpenTelemetry report its errors to a log.
var LogTraceErrors = logTraceErrors

// Metrics is where the server's figures are.
func (s *Server) Metrics() prometheus.Gatherer { return s.metrics }

// InstallationFigures names the figures of the installation, also those that have no value now.
func InstallationFigures() (names []string) {
	for _, f := range figures {
		names = append(names, "latchkey_installation_"+f.name)
	}
	return names
}

// ReadInstallation reads the figures of the installation now, by name and labels.
func (s *Server) ReadInstallation() (map[string]float64, error) {
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(newInstallation(s, func() bool { return true })); err != nil {
		return nil, err
	}
	families, err := r.Gather()
	all := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := []string{strings.TrimPrefix(f.GetName(), "latchkey_installation_")}
			for _, l := range m.GetLabel() {
				name = append(name, l.GetValue())
			}
			all[strings.Join(name, " ")] = m.GetGauge().GetValue()
		}
	}
	return all, err
}
