// Package explained writes why the doors of a stay open, or do not, as messages: the same for partners and staff.
package explained

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/reservation/explain"
)

// Message is an explanation as it is sent.
func Message(e explain.Explanation) *partnerv1.Explanation {
	out := &partnerv1.Explanation{
		ReservationId: e.ReservationID, State: string(e.State), Truncated: e.Truncated, Forgotten: e.Forgotten, AsOf: moment(e.AsOf),
		Sentence: e.Sentence, Advice: e.Advice,
	}
	for _, d := range e.Doors {
		out.Doors = append(out.Doors, &partnerv1.ExplainedDoor{
			DoorId: d.DoorID, Name: d.Name, Kind: string(d.Kind), Verdict: string(d.Word), OpensAt: moment(d.At),
			Evidence: string(d.Evidence), Reason: d.Reason, Sentence: d.Sentence, Advice: d.Advice,
		})
	}
	for _, s := range e.Steps {
		out.Steps = append(out.Steps, &partnerv1.ExplainedStep{
			At: moment(s.At), Actor: string(s.Actor), Kind: s.Kind, DoorId: given(s.DoorID), DoorName: given(s.DoorName),
			Evidence: given(string(s.Evidence)), Reason: given(s.Reason), Sentence: s.Sentence,
		})
	}
	return out
}

func moment(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// given is a string that is left out of the answer where it is empty.
func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
