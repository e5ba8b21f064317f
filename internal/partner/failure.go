package partner

import (
	"errors"

	"latchkey.dev/internal/message"
	"latchkey.dev/internal/text"
)

// Failure is why a call to an endpoint or webhook failed. Its zero value is a success. It never contains a token or the URL's query.
type Failure struct {
	Text    string          // Text is in English, for the partner's engineers
	Problem message.Message // Problem is for staff, in every language; zero if only Text is known
}

// FailureOf returns the failure of a call with an error. english is the text of the error; empty: the call succeeded. said is the partner's
// own text, or "". Problem comes from the first error in err's chain that has one.
func FailureOf(err error, english, said string) Failure {
	f := Failure{Text: english}
	var known interface{ Problem() message.Message }
	if english != "" && errors.As(err, &known) {
		f.Problem = known.Problem()
		if said != "" {
			f.Problem = message.Message{Kind: "endpoint.said", Params: message.Params{"problem": f.Problem, "text": text.Truncate(said, maxSaid)}}
		}
	}
	return f
}

// Failed reports whether there is a failure.
func (f Failure) Failed() bool { return f.Text != "" }

// forStaff returns the failure as a parameter of a notice: Problem if it is known, else the English text, truncated.
func (f Failure) forStaff() any {
	if f.Problem.Kind == "" {
		return text.Truncate(f.Text, 512)
	}
	return f.Problem
}

// maxError limits the text in the column last_error, and maxSaid the partner's own text in a Problem, both in bytes.
const (
	maxError = 1024
	maxSaid  = 100
)

// stored returns the text for the column last_error, truncated to maxError.
func (f Failure) stored() string { return text.Truncate(f.Text, maxError) }
