package main

import "testing"

func TestTimeZonesAreSuggested(t *testing.T) {
	s := newShell(t)
	for typed, want := range map[string]string{
		"Lisbon": "did you mean Europe/Lisbon?", "europe/lisbon": "did you mean Europe/Lisbon?", "'new york'": "did you mean America/New_York?",
		"america/argentina/buenos_aires": "did you mean America/Argentina/Buenos_Aires?", "UTC+1": "such as Europe/Lisbon", "Nowhere": "such as Europe/Lisbon", "local": "such as Europe/Lisbon",
	} {
		s.fails(1, "property create A --time-zone "+typed, "--time-zone", want)
	}
	s.ok("property create A --time-zone Europe/Lisbon")
	s.fails(1, "property set --time-zone rome", "did you mean Europe/Rome?")
	s.fails(1, "property set --time-zone Europe/Rome --check-in 25:00", "--check-in")
}
