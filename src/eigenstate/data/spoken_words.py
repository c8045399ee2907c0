"""The 35 words of Speech Commands, spoken by espeak-ng, in the folders and files of that data set.

P. Warden, "Speech Commands", arXiv:1804.03209. The voices are espeak-ng's variants, each with eight
accents. A variant is heard in one part alone, and so is a family of variants, like klatt1 and
klatt2: what is learnt from some voices is judged by others.
"""

import hashlib
import random
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from eigenstate.data import wav
from eigenstate.data.progress import Progress
from eigenstate.data.speech_commands import LENGTH, LISTS, RATE, WORDS
from eigenstate.data.workers import in_order

PROGRAM = "espeak-ng"
GET = "apt-get install espeak-ng"
SPOKEN_RATE = 22_050  # Hz, of espeak-ng
UP, DOWN = 320, 441  # RATE / SPOKEN_RATE

# `en-gb` would ignore the variant.
ACCENTS = (
    "en", "en-us", "en-gb-scotland", "en-gb-x-gbclan", "en-gb-x-rp", "en-gb-x-gbcwmd", "en-029",
    "en-us-nyc",
)  # fmt: skip
PITCH, SPEED = (20, 80), (120, 220)  # of 0 .. 99; words a minute
FASTER, FASTEST = 1.25, 450  # a clip longer than a second is spoken again, so much faster
SILENT = 0.02  # of the loudest sample: what is cut off at both ends
HELD_OUT = 0.1  # share of the voices that validate, and of those that test
TURNS = ("train",) * 8 + ("validation", "test")  # whose voice speaks the next clip of a word
CLIPS = 500  # of each word
CHUNK = 50  # clips handed to a worker at a time


class SpeakerError(RuntimeError):
    """espeak-ng is missing or failed; says what to do."""


@dataclass(frozen=True)
class Clip:
    """One recording: what is said, how, and in which part of the data set."""

    word: str
    part: str
    accent: str
    variant: str
    take: int  # counts the clips of one word by one voice
    seed: str

    @property
    def name(self) -> str:
        """The file's name: eight digits that stand for the voice, and the take."""
        voice = hashlib.blake2b(f"{self.accent}+{self.variant}".encode(), digest_size=4)
        return f"{self.word}/{voice.hexdigest()}_nohash_{self.take}.wav"


def write_spoken_words(folder: Path, *, seed: int, count: int = CLIPS, workers: int = 1) -> None:
    """Write `count` clips of each word to `folder`: one second, 16 bits, 16 kHz, mono.

    <word>/<voice>_nohash_<take>.wav, validation_list.txt and testing_list.txt. The same seed gives
    the same clips wherever the same espeak-ng is installed. SpeakerError: it is missing or fails.
    """
    clips = plan(variants(), seed=seed, count=count)
    for word in WORDS:
        (folder / word).mkdir()
    chunks = [clips[start : start + CHUNK] for start in range(0, len(clips), CHUNK)]
    with (
        closing(in_order(partial(_write_chunk, folder), chunks, workers=workers)) as written,
        Progress("spoken words", len(clips)) as progress,
    ):
        done = 0
        for chunk in written:
            done += chunk
            progress(done)
    for part, name in LISTS.items():
        lines = sorted(f"{clip.name}\n" for clip in clips if clip.part == part)
        (folder / name).write_text("".join(lines), encoding="utf-8")


def variants() -> list[str]:
    """Return espeak-ng's variants, in order; of those that sound the same the first."""
    heard: dict[bytes, str] = {}
    listing = _run(["--voices=variant"])
    names = [line.split("!v/")[1].split()[0] for line in listing.splitlines() if "!v/" in line]
    with tempfile.TemporaryDirectory() as folder:
        for name in sorted(names):
            sound = speak("seven", f"en-us+{name}", pitch=50, speed=150, folder=Path(folder))
            heard.setdefault(sound.tobytes(), name)
    return list(heard.values())


def plan(names: Sequence[str], *, seed: int, count: int) -> list[Clip]:
    """Return `count` clips of each word: eight for training, one to validate, one to test, ..."""
    parts = _parted(names, seed)
    rng = random.Random(f"{seed} voices")
    voices = {part: [(a, v) for v in parts[part] for a in ACCENTS] for part in sorted(parts)}
    for part in voices.values():
        rng.shuffle(part)
    clips = []
    for word in WORDS:
        used = dict.fromkeys(voices, 0)
        for number in range(count):
            part = TURNS[number % len(TURNS)]
            take, place = divmod(used[part], len(voices[part]))
            accent, variant = voices[part][place]
            clips.append(Clip(word, part, accent, variant, take, f"{seed} {word} {number}"))
            used[part] += 1
    return clips


def render(clip: Clip, folder: Path) -> np.ndarray:
    """Speak a clip: int16 (16000,), silent but for the word, which stands at a random place."""
    rng = random.Random(clip.seed)
    pitch, speed = rng.randint(*PITCH), rng.randint(*SPEED)
    while True:
        spoken = speak(
            clip.word, f"{clip.accent}+{clip.variant}", pitch=pitch, speed=speed, folder=folder
        )
        sound = _trimmed(wav.resample(spoken, up=UP, down=DOWN))
        if len(sound) <= LENGTH or speed == FASTEST:
            break
        speed = min(round(speed * FASTER), FASTEST)
    sound = sound[:LENGTH]
    second = np.zeros(LENGTH)
    start = rng.randint(0, LENGTH - len(sound))
    second[start : start + len(sound)] = sound
    return np.clip(np.rint(second * 2**15), -(2**15), 2**15 - 1).astype(np.int16)


def speak(word: str, voice: str, *, pitch: int, speed: int, folder: Path) -> np.ndarray:
    """Return what espeak-ng says, float32 (length,) at 22,050 Hz, by way of a file in `folder`."""
    path = folder / "spoken.wav"
    _run(["-v", voice, "-p", str(pitch), "-s", str(speed), "-w", str(path), word])
    try:
        rate, samples = wav.read(path)
    except (OSError, ValueError) as error:
        raise SpeakerError(f"{PROGRAM} -v {voice} wrote no sound for {word!r}: {error}") from None
    if rate != SPOKEN_RATE or not samples.any():
        raise SpeakerError(
            f"{PROGRAM} -v {voice} said {word!r} at {rate} Hz, loudness {abs(samples).max():.3f}; "
            f"expected {SPOKEN_RATE} Hz and a sound: another {PROGRAM} may help ({GET})"
        )
    return samples


def _write_chunk(folder: Path, clips: Sequence[Clip]) -> int:
    with tempfile.TemporaryDirectory() as own:
        for clip in clips:
            wav.write(folder / clip.name, RATE, render(clip, Path(own)))
    return len(clips)


def _run(arguments: Sequence[str]) -> str:
    program = shutil.which(PROGRAM)
    if program is None:
        raise SpeakerError(f"{PROGRAM} speaks the words, and is not installed: {GET}")
    run = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        said = " ".join(run.stderr.split()) or "nothing"
        raise SpeakerError(f"{PROGRAM} {' '.join(arguments)}: failed, and said: {said}")
    return run.stdout


def _parted(names: Sequence[str], seed: int) -> dict[str, list[str]]:
    """Divide the variants, families kept together. SpeakerError: fewer than three families."""
    families: dict[str, list[str]] = {}
    for name in names:
        stem = name.rstrip("0123456789")
        # f1 .. f5 and m1 .. m8 are different people.
        families.setdefault(stem if len(stem) > 1 else name, []).append(name)
    if len(families) < len(LISTS) + 1:
        raise SpeakerError(f"expected at least 3 unlike voices, got {sorted(names)}: {GET}")
    order = sorted(families)
    random.Random(f"{seed} parts").shuffle(order)
    parts: dict[str, list[str]] = {}
    for part in LISTS:
        parts[part] = []
        few = HELD_OUT * len(names)
        # One family at least, and one left for each part to come.
        while not parts[part] or (len(parts[part]) < few and len(order) > len(LISTS)):
            parts[part] += families[order.pop()]
    parts["train"] = [name for family in order for name in families[family]]
    return parts


def _trimmed(sound: np.ndarray) -> np.ndarray:
    """Cut off the silence before and after."""
    (loud,) = np.nonzero(np.abs(sound) > SILENT * np.abs(sound).max())
    return sound[loud[0] : loud[-1] + 1]
