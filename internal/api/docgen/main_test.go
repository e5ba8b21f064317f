package main

import "testing"

func TestInvalidOpenAPIIsRefused(t *testing.T) {
	for _, text := range []string{"", "a: 1", "\t", "paths: {}"} {
		s := site{areas: areas, files: map[string][]byte{}}
		if err := s.reference(areas[0], []byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
