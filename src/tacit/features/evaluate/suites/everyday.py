"""Everyday requests with six tools each: shows whether a model that was trained on other work has lost anything.

Each request is answered by one of thirty tools; five others are offered with it. The texts were written for this suite. It
has no training tasks. Each request is asked twice, with other values and other tools; both form one group.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from tacit.features.evaluate.suite import Exercise
from tacit.features.evaluate.suites.next_call import NextCallWorld
from tacit.features.evaluate.tool import Call, Tool

OTHER_TOOLS = 5
"""How many other tools are offered."""
TIMES = 2
_PEOPLE = ("Mara", "Tomas", "Ines", "Jonas", "Priya", "Kofi")
_DAYS = ("Monday", "Tuesday", "Thursday", "Friday", "tomorrow", "the 14th")
_PLACES = ("Lisbon", "Oslo", "Turin", "Galway", "Graz", "Porto")
_THINGS = ("the blue lamp", "the garden chairs", "the old bicycle", "the rain barrel", "the oak shelf", "the tent")
_TOOLS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "send_email": ("Sends an e-mail to somebody.", "to text", (
        "Write {person} an e-mail that we meet on {day}.", "Mail {person} that {thing} has arrived.",
        "E-mail {person} and ask how {place} was.", "Let {person} know by e-mail that the invoice is paid.")),
    "make_call": ("Calls somebody by telephone.", "person", (
        "Ring {person} up, please.", "Phone {person} about {thing}.",
        "Give {person} a call before {day}.", "I have to speak to {person} by telephone.")),
    "add_event": ("Puts an event into the calendar.", "title day", (
        "Put lunch with {person} on {day} into my calendar.", "Note the trip to {place} on {day} in the calendar.",
        "Schedule a meeting with {person} for {day}.", "Enter {person}'s birthday, {day}, as an event.")),
    "delete_event": ("Removes an event from the calendar.", "title", (
        "Take the meeting with {person} out of my calendar.", "Cancel the event on {day} in the calendar.",
        "Remove the trip to {place} from the calendar.", "Delete the calendar entry about {thing}.")),
    "get_weather": ("Tells the weather of a place.", "place day", (
        "Will it rain in {place} on {day}?", "How warm does it get in {place}?",
        "What is the weather like in {place}?", "Is it windy in {place} on {day}?")),
    "set_alarm": ("Sets an alarm clock.", "time", (
        "Wake me at half past six.", "Set an alarm for seven on {day}.",
        "Let the alarm clock ring at five.", "I need an alarm at noon.")),
    "start_timer": ("Starts a timer that counts down.", "minutes", (
        "Count down twelve minutes for the pasta.", "Start a timer of an hour.",
        "Tell me when ten minutes are over; start the timer.", "Set the kitchen timer to four minutes.")),
    "play_music": ("Plays music.", "what", (
        "Play some jazz.", "Put on a song that {person} likes.",
        "I want to hear piano music.", "Play the radio's music from {place}.")),
    "translate_text": ("Translates a text into another language.", "text language", (
        "How do you say 'good evening' in Portuguese?", "Translate this note to {person} into French.",
        "Put 'where is the station' into Norwegian.", "Translate the sign from {place} into English.")),
    "convert_currency": ("Converts an amount of money into another currency.", "amount into", (
        "How many euros are 80 dollars?", "Convert 500 kronor into pounds.",
        "What are 30 francs in yen?", "Change 120 pounds into euros for {place}.")),
    "book_flight": ("Books a flight.", "destination day", (
        "Book me a flight to {place} on {day}.", "I want to fly to {place}.",
        "Get {person} a plane ticket to {place}.", "Reserve two seats on the plane to {place}.")),
    "book_hotel": ("Books a room in a hotel.", "place nights", (
        "Find me a hotel room in {place} for two nights.", "Book a hotel in {place} from {day}.",
        "{person} needs a double room in {place}.", "Reserve a room for the night in {place}.")),
    "book_table": ("Reserves a table in a restaurant.", "restaurant people", (
        "Reserve a table for four on {day}.", "Get us a table at the fish restaurant in {place}.",
        "Book dinner for {person} and me at the restaurant.", "A table for two at the pizzeria, please.")),
    "find_route": ("Finds the way to a place.", "destination", (
        "How do I get to {place} by car?", "Show me the way to {person}'s house.",
        "What is the shortest road to {place}?", "Which route leads to the station?")),
    "order_food": ("Orders food to be brought home.", "dish", (
        "Order a pizza to my house.", "Have noodles brought for {person} and me.",
        "Get soup delivered.", "Order curry for {day} evening, delivered.")),
    "track_parcel": ("Tells where a parcel is.", "number", (
        "Where is my parcel with {thing}?", "Has the package from {place} been shipped on?",
        "Track the parcel that {person} sent.", "When will the parcel arrive?")),
    "pay_bill": ("Pays a bill.", "bill", (
        "Pay the electricity bill.", "Settle {person}'s invoice for {thing}.",
        "Pay what we owe to the plumber.", "The water bill is due on {day}: pay it.")),
    "transfer_money": ("Transfers money to another account.", "to amount", (
        "Send {person} 40 euros from my account.", "Transfer 200 to my savings account.",
        "Move 75 from my account to {person}'s.", "Wire {person} the 30 for {thing}.")),
    "show_balance": ("Shows how much money is in an account.", "account", (
        "How much money is in my account?", "What is the balance of the savings account?",
        "Show what is left in the account after {day}.", "Do I have any money left in the bank?")),
    "buy_item": ("Buys something in a shop.", "item", (
        "Buy {thing} that I looked at.", "Purchase a new kettle.",
        "Get {person} a scarf from the shop.", "Buy three tickets to the museum in {place}.")),
    "sell_item": ("Offers something for sale.", "item price", (
        "Put {thing} up for sale.", "I want to sell {thing} for 50.",
        "Offer {thing} to buyers in {place}.", "Sell {thing} before {day}.")),
    "take_note": ("Keeps a note.", "text", (
        "Note down that {person} likes tea.", "Write down the idea about {thing}.",
        "Keep in mind for me: the key is at {person}'s.", "Take a note: paint for {thing}.")),
    "find_note": ("Finds a note that was kept.", "about", (
        "What did I note about {person}?", "Look up my note on {thing}.",
        "Which of my notes speaks of {place}?", "Find what I wrote down on {day}.")),
    "add_to_list": ("Adds something to the shopping list.", "item", (
        "Put milk on the shopping list.", "Add nails for {thing} to the list of shopping.",
        "We need flour: add it to the shopping list.", "Shopping list: bread for {person} too.")),
    "turn_on_light": ("Turns the light of a room on.", "room", (
        "It is dark in the kitchen: light, please.", "Switch the lamp in the hall on.",
        "Turn on the light for {person} in the cellar.", "Make it bright in the bedroom.")),
    "set_heating": ("Sets the temperature of the heating.", "degrees", (
        "Heat the living room to 21 degrees.", "It is cold at {person}'s: turn the heating up.",
        "Set the heating to 18 until {day}.", "Make the bathroom three degrees warmer.")),
    "lock_door": ("Locks a door.", "door", (
        "Lock the front door.", "Is the back door open? Lock it.",
        "Make sure nobody comes in by the garage: lock it.", "Lock up before {person} goes to bed.")),
    "take_photo": ("Takes a photograph.", "of", (
        "Take a picture of {thing}.", "Photograph {person} in front of the house.",
        "Make a photo of the view over {place}.", "I want a snapshot of this page.")),
    "print_document": ("Prints a document on paper.", "document", (
        "Print the letter to {person}.", "I need the map of {place} on paper.",
        "Print two copies of the contract.", "Put the recipe on paper with the printer.")),
    "search_web": ("Searches the web.", "words", (
        "Look on the web how to repair {thing}.", "Search the internet for the history of {place}.",
        "Find web pages about beekeeping.", "Google who invented the zip.")),
}  # fmt: skip


class EverydaySuite:
    """240 requests in 120 groups, always the same."""

    name = "everyday"

    def exercises(self) -> Sequence[Exercise]:
        """Return the requests, tool by tool."""
        return list(_exercises())

    def begin(self, exercise: Exercise) -> NextCallWorld:
        """Return an unanswered question; only the tool counts, not the arguments."""
        return NextCallWorld(exercise, knows_arguments=False)


def _exercises() -> Iterator[Exercise]:
    tools = {
        name: Tool(name=name, description=description, required=tuple(required.split()))
        for name, (description, required, _) in _TOOLS.items()
    }
    for name, (_, _, requests) in _TOOLS.items():
        for number, request in enumerate(requests):
            for turn in range(TIMES):
                group = f"{name}/{number}"
                dice = random.Random(f"{group}/{turn}")
                offered = [name, *dice.sample([other for other in tools if other != name], OTHER_TOOLS)]
                dice.shuffle(offered)
                yield Exercise(
                    key=f"{group}/{turn}",
                    group=group,
                    task=request.format(
                        person=dice.choice(_PEOPLE),
                        day=dice.choice(_DAYS),
                        place=dice.choice(_PLACES),
                        thing=dice.choice(_THINGS),
                    ),
                    tools=tuple(tools[other] for other in offered),
                    answer=(Call(tool=name),),
                )
