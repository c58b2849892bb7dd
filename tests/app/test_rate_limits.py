"""Turns: so many at once, fair between visitors, and a line that ends."""

from __future__ import annotations

import asyncio

import pytest

from pages.ui.rate_limits import TooMany, Turns


async def worker(turns, visitor, done, hold):
    async with turns.turn(visitor):
        done.append(visitor)
        await hold.wait()


async def settle():
    for _ in range(20):
        await asyncio.sleep(0)


def test_visitors_take_turns_however_many_requests_one_has():
    async def main():
        done: list = []
        turns, hold = Turns(1, 1, 100), asyncio.Event()
        greedy = [asyncio.create_task(worker(turns, "greedy", done, hold)) for _ in range(50)]
        others = [asyncio.create_task(worker(turns, name, done, hold)) for name in "ab" for _ in range(2)]
        await settle()  # all stand in line, behind the first
        hold.set()
        await asyncio.gather(*greedy, *others)
        return done

    order = asyncio.run(main())
    assert len(order) == 54 and order.index("a") <= 3 and order.index("b") <= 3
    assert [i for i, name in enumerate(order) if name in "ab"][-1] <= 8, "four requests beside a line of fifty"


def test_only_so_many_at_once_and_of_each():
    async def main():
        done: list = []
        turns, hold = Turns(3, 2, 100), asyncio.Event()
        tasks = [asyncio.create_task(worker(turns, name, done, hold)) for name in "aaaabb"]
        await settle()
        early = list(done)
        hold.set()
        await asyncio.gather(*tasks)
        return early, done

    early, done = asyncio.run(main())
    assert sorted(early) == ["a", "a", "b"] and sorted(done) == list("aaaabb")


def test_a_line_ends_and_other_visitors_do_not_feel_it():
    async def main():
        done: list = []
        turns, hold = Turns(1, 1, 3), asyncio.Event()
        tasks = [asyncio.create_task(worker(turns, "greedy", done, hold)) for _ in range(4)]
        await settle()
        with pytest.raises(TooMany):
            await worker(turns, "greedy", done, hold)
        tasks.append(asyncio.create_task(worker(turns, "other", done, hold)))
        await settle()
        hold.set()
        await asyncio.gather(*tasks)
        return done

    assert asyncio.run(main()).count("other") == 1


def test_whoever_leaves_the_line_gives_his_turn_back():
    async def main():
        done: list = []
        turns, hold = Turns(1, 1, 10), asyncio.Event()
        first, second, third = (asyncio.create_task(worker(turns, name, done, hold)) for name in "abc")
        await settle()
        second.cancel()
        await settle()
        first.cancel()
        await settle()
        hold.set()
        await asyncio.wait_for(third, 5)
        racing = asyncio.create_task(worker(turns, "d", done, hold))
        racing.cancel()  # before it has begun, and once more just as its turn comes
        await settle()
        await asyncio.wait_for(worker(turns, "e", done, hold), 5)
        return done

    assert asyncio.run(main()) == ["a", "c", "e"]


def test_a_turn_that_comes_to_somebody_who_just_left_is_not_lost():
    async def main():
        done: list = []
        turns, hold = Turns(1, 1, 10), asyncio.Event()
        first, second = (asyncio.create_task(worker(turns, name, done, hold)) for name in "ab")
        await settle()
        hold.set()
        await asyncio.sleep(0)  # the first has left and given its turn to the second, which has not noticed yet
        second.cancel()
        await settle()
        await asyncio.wait_for(worker(turns, "c", done, hold), 5)
        await asyncio.gather(first, second, return_exceptions=True)
        return done

    assert asyncio.run(main())[-1] == "c"
