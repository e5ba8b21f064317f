package convert

import (
	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/reservation/explain"
)

// Explanation converts the explanation of a reservation's access to its protobuf message, which the partner and property APIs share. Its
// sentences are in the reader's language, and have times in the zone of e.
func Explanation(e explain.Explanation, to message.Reader) *partnerv1.Explanation {
	to.Zone = e.Zone
	out := &partnerv1.Explanation{
		ReservationId: e.ReservationID, State: string(e.State), Truncated: e.Truncated, Forgotten: e.Forgotten, AsOf: clock.Timestamp(e.AsOf),
		Reason: e.Reason, Sentence: to.Text(e.Text), Advice: to.Text(e.Advice), CompleteAfter: clock.Timestamp(e.CompleteAfter),
	}
	for _, d := range e.Doors {
		out.Doors = append(out.Doors, &partnerv1.ExplainedDoor{
			DoorId: d.DoorID, Name: d.Name, ParentName: d.Parent, Kind: string(d.Kind), Verdict: string(d.Outcome), OpensAt: clock.Timestamp(d.At),
			Evidence: string(d.Evidence), Reason: d.Reason, Sentence: to.Text(d.Text), StaffSentence: to.Text(explain.ForStaff(d.Text)), Advice: to.Text(d.Advice),
			Parameters: Struct(d.Text.Params),
		})
	}
	for _, s := range e.Steps {
		out.Steps = append(out.Steps, &partnerv1.ExplainedStep{
			At: clock.Timestamp(s.At), Actor: string(s.Actor), Kind: s.Kind, DoorId: TextOrNil(s.DoorID), DoorName: TextOrNil(s.DoorName), DoorParentName: TextOrNil(s.DoorDorm),
			Evidence: TextOrNil(string(s.Evidence)), Reason: TextOrNil(s.Reason), Sentence: to.Text(s.Text),
			StaffSentence: to.Text(explain.ForStaff(s.Text)), Parameters: Struct(s.Text.Params),
		})
	}
	return out
}
