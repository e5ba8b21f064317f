// Package explained converts explanations of a reservation's access to messages, the same for partners and staff.
package explained

import (
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/api/optional"
	"latchkey.dev/internal/reservation/explain"
)

// Message converts an explanation.
func Message(e explain.Explanation) *partnerv1.Explanation {
	out := &partnerv1.Explanation{
		ReservationId: e.ReservationID, State: string(e.State), Truncated: e.Truncated, Forgotten: e.Forgotten, AsOf: optional.Time(e.AsOf),
		Sentence: e.Sentence, Advice: e.Advice,
	}
	for _, d := range e.Doors {
		out.Doors = append(out.Doors, &partnerv1.ExplainedDoor{
			DoorId: d.DoorID, Name: d.Name, Kind: string(d.Kind), Verdict: string(d.Outcome), OpensAt: optional.Time(d.At),
			Evidence: string(d.Evidence), Reason: d.Reason, Sentence: d.Sentence, Advice: d.Advice,
		})
	}
	for _, s := range e.Steps {
		out.Steps = append(out.Steps, &partnerv1.ExplainedStep{
			At: optional.Time(s.At), Actor: string(s.Actor), Kind: s.Kind, DoorId: optional.Text(s.DoorID), DoorName: optional.Text(s.DoorName),
			Evidence: optional.Text(string(s.Evidence)), Reason: optional.Text(s.Reason), Sentence: s.Sentence,
		})
	}
	return out
}
