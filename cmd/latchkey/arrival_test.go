package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	propertyv1 "latchkey.dev/gen/latchkey/property/v1"
)

// The day is the property's, so the times are too, wherever the command runs.
func TestArrivalsAreInTheZoneOfTheProperty(t *testing.T) {
	zone, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := &session{remote: &remote{}, streams: &streams{out: &out}}
	s.arrivals(zone, []*propertyv1.Arrival{{ReservationId: "rsv_1", From: timestamppb.New(time.Date(2026, 7, 1, 6, 0, 0, 0, time.UTC))}})
	if !strings.Contains(out.String(), "2026-07-01 15:00:00 JST") {
		t.Error(out.String())
	}
}
