package guest

import (
	"time"

	"latchkey.dev/internal/throttle"
)

// Limits of failed searches by two facts, a booking number and a family name. A search that has to wait compares nothing and counts
// nothing.
//
// A source is one kiosk, or one client network (an IPv4 address or an IPv6 /64). A site is an IPv6 /48, see [throttle.SiteOf]. Kiosks and
// QR codes have separate limits for bookings and for the property, so guesses from afar never slow a kiosk. A booking has one limit,
// whichever of its numbers is typed. A search that finds a stay costs nothing, and gives the source back what failed there for the same
// number: a guest who mistypes does not slow the next guest. The limit of the booking gets nothing back: its number may be that of a group,
// and one member could guess the names of others.
//
// How often a guesser can fail who searches again as soon as each pause is over. Restarts of the server do not change it (TestGuesses):
//
//	                                  an hour   a day
//	all kiosks on one booking              10      62
//	all kiosks on all bookings            109   2,616
//	one source on all bookings             21     504
//	one network on one booking              8      21
//	one site on all bookings               31     744
//	one site on one booking                13      26
//	all networks on one booking            30      53
//	all networks on all bookings          109   2,616
//
// The chance of a guesser at a kiosk within an hour:
//   - A guesser who knows no number can try 21 pairs. If 200 numbers of five digits are in use, that is one in 500. The most frequent
//     family name is that of one guest in 120 (United States): 21 / (500 × 120), below 1 in 2,800. Numbers of channels have ten digits:
//     below 1 in 10^8.
//   - A family name of several parts is found by each of them with four letters or more, so two such parts double these chances.
//   - A guesser who knows one number can try 10 names. The ten most frequent names are those of 5 % of the people in the United States;
//     three are those of 45 % in Korea. A limit that resisted there would refuse guests who mistype.
//   - A guesser who knows 21 numbers, because a PMS counts up, finds one of the 21 stays with a chance of 21 / 120, below 1 in 5.
//
// So two facts prove little. They show no answers of others, and no PIN of a guest who is checked in: see [Party.MayAccess] and
// [RevealPINs].
//
// How long a guesser delays the real guest, who knows both facts:
//   - At a kiosk, at most 5 minutes after the last guess for other bookings, and 10 minutes after the last for this one; 30 minutes if these
//     went on for two and a half hours. The guesser has to be at the kiosk. Guessers at several kiosks delay each kiosk by a minute.
//   - On a phone, the guesses of one other network or site (an IPv6 /48) do not delay the guest. Those of many do, as long
//     as they go on, and at most an hour after the last. The kiosk, the link of the mail and the desk do not wait for that.
var (
	atSource         = throttle.Within("source", time.Hour).After(10, 5*time.Minute)
	bookingAtKiosks  = throttle.Within("bookingAtKiosks", 24*time.Hour).After(5, 10*time.Minute).After(20, 30*time.Minute)
	bookingAtNetwork = throttle.Within("bookingAtNetwork", 24*time.Hour).After(5, 15*time.Minute).After(10, 2*time.Hour)
	atSite           = throttle.Within("site", time.Hour).After(20, 5*time.Minute)
	bookingAtSite    = throttle.Within("bookingAtSite", 24*time.Hour).After(10, 15*time.Minute).After(15, 2*time.Hour)
	bookingAtDoors   = throttle.Within("bookingAtDoors", 24*time.Hour).After(30, time.Hour)
	atProperty       = throttle.Within("property", time.Hour).After(50, time.Minute)
	// givenBack counts the failures of one source with one number, which it gets back when its search finds the stay. It delays no search.
	givenBack = throttle.Within("givenBack", atSource.Period)
)
