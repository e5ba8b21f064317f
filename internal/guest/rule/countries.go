package rule

import (
	"slices"
	"strings"
)

// Codes of citizenships that ISO 3166-1 does not have.
const (
	Kosovo    = "XK"
	Stateless = "XX" // as in travel documents, ICAO 9303
)

// Countries are the codes of ISO 3166-1 alpha-2 with [Kosovo], sorted. [Stateless] is a citizenship, not a country.
var Countries = strings.Fields(`
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR
GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP
KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ
NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW
SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ
UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW`)

// IsCountry reports whether a code, in upper case, is one of [Countries].
func IsCountry(code string) bool {
	_, ok := slices.BinarySearch(Countries, code)
	return ok
}

// commonwealth has the member states of the Commonwealth of Nations except the United Kingdom: see isAlien.
var commonwealth = strings.Fields(`
AG AU BB BD BN BS BW BZ CA CM CY DM FJ GA GD GH GM GY IN JM KE KI KN LC LK LS MT MU MV MW MY MZ NA NG NR NZ PG PK
RW SB SC SG SL SZ TG TO TT TV TZ UG VC VU WS ZA ZM`)

// isAlien reports whether the British order of 1972 calls a guest an alien: not British, Irish or of the Commonwealth, by either
// citizenship. It returns false as long as the citizenship is not answered.
func isAlien(a Answers) bool {
	exempt := func(code string) bool { return code == "GB" || code == "IE" || slices.Contains(commonwealth, code) }
	return a[Nationality] != "" && !exempt(a[Nationality]) && !exempt(a[OtherNationality])
}

// freeMovement has the countries whose citizens are not of a third country (see isThirdCountry): the member states of the European Union
// and of the European Economic Area, and Switzerland.
var freeMovement = strings.Fields(`AT BE BG CH CY CZ DE DK EE ES FI FR GR HR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK`)

// isThirdCountry reports whether a guest named a citizenship, and has none with free movement in the European Union.
func isThirdCountry(a Answers) bool {
	return a[Nationality] != "" && !slices.Contains(freeMovement, a[Nationality]) && !slices.Contains(freeMovement, a[OtherNationality])
}
