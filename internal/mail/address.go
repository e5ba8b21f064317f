package mail

import "strings"

// relays are domains of the addresses with which booking agencies hide those of their guests. Mails to them are filtered, lose their links,
// or are refused once the agency has closed the address.
var relays = []string{
	"guest.booking.com", "property.booking.com", "m.expediapartnercentral.com", "expediapartnercentral.com", "guest.expedia.com", "guest.airbnb.com", "reply.airbnb.com",
	"airbnb.com", "guest.agoda.com", "agoda-messaging.com", "messages.homeaway.com", "messages.vrbo.com", "guest.trip.com", "guest.hostelworld.com", "guest.hotelbeds.com",
	"guest.ctrip.com", "reply.tripadvisor.com", "guest.hrs.com", "guest.despegar.com", "guest.traveloka.com", "booking.com", "expedia.com", "hotels.com", "agoda.com", "vrbo.com",
}

// Reaches reports whether mails to an address reach the guest: it is not empty, and not an address of a booking agency.
func Reaches(address string) bool {
	name, domain, ok := splitAddress(address)
	return ok && name != "" && domain != "" && !isRelayDomain(domain)
}

// IsRelay reports whether an address is an agency's, which hides the guest's own.
func IsRelay(address string) bool {
	_, domain, ok := splitAddress(address)
	return ok && isRelayDomain(domain)
}

// splitAddress returns the parts of an address before and after the "@", in lower case. ok is false without an "@".
func splitAddress(address string) (name, domain string, ok bool) {
	return strings.Cut(strings.ToLower(strings.TrimSpace(address)), "@")
}

// isRelayDomain reports whether a domain is one of relays or a subdomain of one.
func isRelayDomain(domain string) bool {
	for _, relay := range relays {
		if domain == relay || strings.HasSuffix(domain, "."+relay) {
			return true
		}
	}
	return false
}
