package checkin

// Interrupt sets what happens at the points between the steps of a check-in.
func (s *Service) Interrupt(f func(point string) error) { s.interrupt = f }

// OutcomeOf decides what the result of a checkIn call does to its attempt.
var OutcomeOf = outcomeOf

// HealthOf decides whether the result of a call counts as a failure of the endpoint.
var HealthOf = healthOf
