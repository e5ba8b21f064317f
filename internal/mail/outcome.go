package mail

// Outcome is the result of one attempt to hand a mail to a mail server.
type Outcome struct {
	Failure Failure // Failure is empty if the server took the mail
	Answer  string  // Answer is what the server answered, cut and without addresses
	Retry   bool    // Retry means that a later attempt may succeed
}
