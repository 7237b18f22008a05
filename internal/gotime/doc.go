// Package gotime samples where the goroutines of a Go program spend their time. Most goroutines wait, and a waiting goroutine has
// no thread: profiles of threads do not show it.
//
// # Moments
//
// Time is divided into slots, and all goroutines are read at one random moment of each. What a goroutine does then counts for
// the length of the slot. So a program that does something at regular times is seen as often as it does it.
//
// A slot is a hundred times as long as the last readings took, which bounds the cost to a hundredth of a processor. The first
// reading comes early, and is the exception.
//
// # What is missing
//
// The goroutines are read one after the other, and each is read again until it stands still. What lasts for less time than the
// reading of one goroutine, some ten to a hundred microseconds, is met less often than it happens. The stack of a goroutine that runs is not known.
package gotime
