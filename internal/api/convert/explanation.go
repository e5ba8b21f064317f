package convert

import (
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	partnerv1 "latchkey.dev/gen/latchkey/partner/v1"
	"latchkey.dev/internal/clock"
	"latchkey.dev/internal/message"
	"latchkey.dev/internal/partner"
	"latchkey.dev/internal/reservation/explain"
	"latchkey.dev/internal/text"
)

// Explanation converts the explanation of a reservation's access to its protobuf message, which the partner and property APIs share. Its
// sentences are in the reader's language, and have times in the zone of e.
func Explanation(e explain.Explanation, to message.Reader) *partnerv1.Explanation {
	to.Zone = e.Zone
	out := &partnerv1.Explanation{
		ReservationId: e.ReservationID, State: string(e.State), Truncated: e.Truncated, Forgotten: e.Forgotten, AsOf: clock.Timestamp(e.AsOf),
		Reason: string(e.Reason), Sentence: to.Text(e.Text), Advice: to.Text(e.Advice), CompleteAfter: clock.Timestamp(e.CompleteAfter),
	}
	for _, d := range e.Doors {
		out.Doors = append(out.Doors, &partnerv1.ExplainedDoor{
			DoorId: d.DoorID, Name: d.Name, ParentName: d.Parent, Kind: string(d.Kind), Verdict: string(d.Outcome), OpensAt: clock.Timestamp(d.At),
			Evidence: string(d.Evidence), Reason: string(d.Reason), Sentence: to.Text(d.Text), StaffSentence: to.Text(explain.ForStaff(d.Text)), Advice: to.Text(d.Advice),
			Parameters: Struct(d.Text.Params),
		})
	}
	for _, s := range e.Steps {
		out.Steps = append(out.Steps, &partnerv1.ExplainedStep{
			At: clock.Timestamp(s.At), Actor: string(s.Actor), Kind: s.Kind, DoorId: TextOrNil(s.DoorID), DoorName: TextOrNil(s.DoorName), DoorParentName: TextOrNil(s.DoorDorm),
			Evidence: TextOrNil(string(s.Evidence)), Reason: TextOrNil(string(s.Reason)), Sentence: to.Text(s.Text),
			StaffSentence: to.Text(explain.ForStaff(s.Text)), Parameters: Struct(s.Text.Params),
		})
	}
	return out
}

// Sentence renders a message with a capital letter, which the catalogue of texts omits. A JSON field at the beginning keeps its case.
func Sentence(to message.Reader, m message.Message) string {
	out := to.Text(m)
	if path, _ := m.Params["path"].(string); path != "" && strings.HasPrefix(out, path) {
		return out
	}
	return text.Capitalize(out)
}

// Problem converts a failure of an endpoint or webhook to its kind, its parameters and its text in the language of the reader. A failure
// stored by an old server has no kind and only English text.
func Problem(f partner.Failure, to message.Reader) (kind string, parameters *structpb.Struct, sentence string) {
	if f.Problem.Kind == "" {
		return "", nil, f.Text
	}
	return strings.TrimPrefix(f.Problem.Kind, "endpoint."), Struct(f.Problem.Params), Sentence(to, f.Problem)
}
