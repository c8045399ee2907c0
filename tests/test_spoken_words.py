"""Spoken words: whose voice is in which part, what a clip holds, and what is said on failure."""

import re
import shutil
import sys

import numpy as np
import pytest

from eigenstate.data import spoken_words, wav
from eigenstate.data.speech_commands import WORDS, read_speech_commands
from eigenstate.data.spoken_words import SpeakerError, plan, render, write_spoken_words

VARIANTS = ["f1", "f2", "f3", "m1", "m2", "klatt", "klatt2", "klatt3", "Andy", "Zoe", "Max", "Ed"]

# A program in espeak-ng's place: a tone whose pitch and length depend on the voice and the word.
FAKE = """#!{python}
import sys, wave, array, math, zlib
if "--voices=variant" in sys.argv:
    print("Pty Language Age/Gender VoiceName File Other")
    for name in "{variants}".split():
        print(" 5  variant  --/M  " + name.title() + "  !v/" + name + "  ")
    sys.exit()
options = dict(zip(sys.argv[1:-1:2], sys.argv[2:-1:2]))
voice, path, word = options["-v"], options["-w"], sys.argv[-1]
{trouble}
twins = voice.replace("Ed", "Max")
seconds = 60 / int(options["-s"]) * (4 if voice.endswith("Zoe") else 1)
rate = 22050
tone = 200 + zlib.crc32((twins + word).encode()) % 900
count = int(seconds * rate)
data = [0] * 2000 + [int(9000 * math.sin(2 * math.pi * tone * k / rate)) for k in range(count)]
with wave.open(path, "wb") as file:
    file.setnchannels(1), file.setsampwidth(2), file.setframerate(rate)
    file.writeframes(array.array("h", data + [0] * 2000).tobytes())
"""


@pytest.fixture
def speaker(tmp_path, monkeypatch):
    """Put the fake program on the path, perhaps with something wrong about it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def install(trouble=""):
        program = folder / "espeak-ng"
        text = FAKE.format(python=sys.executable, variants=" ".join(VARIANTS), trouble=trouble)
        program.write_text(text)
        program.chmod(0o755)

    install()
    return install


# --- voices ---------------------------------------------------------------------------------------


def test_no_voice_is_heard_in_two_parts():
    for seed in range(20):
        heard = {}
        for clip in plan(VARIANTS, seed=seed, count=60):
            family = "klatt" if clip.variant.startswith("klatt") else clip.variant
            heard.setdefault(family, set()).add(clip.part)
        assert all(len(parts) == 1 for parts in heard.values())
        assert {part for parts in heard.values() for part in parts} == {
            "train", "validation", "test",
        }  # fmt: skip


@pytest.mark.parametrize("count", [1, 9, 10, 25])
def test_every_word_has_its_clips_and_every_clip_a_name_of_its_own(count):
    clips = plan(VARIANTS, seed=1, count=count)
    assert len({clip.name for clip in clips}) == len(clips) == count * len(WORDS)
    for word in WORDS:
        parts = [clip.part for clip in clips if clip.word == word]
        assert len(parts) == count
        assert parts.count("test") == (count // 10)
    assert all(re.fullmatch(r"[a-z]+/[0-9a-f]{8}_nohash_\d+\.wav", clip.name) for clip in clips)


def test_the_seed_decides_who_speaks():
    first, again = (plan(VARIANTS, seed=1, count=10) for _ in range(2))
    assert first == again
    assert first != plan(VARIANTS, seed=2, count=10)


@pytest.mark.parametrize("names", [["a1b", "cd", "ef"], ["klatt1", "klatt2", "klatt3", "b1c", "d"]])
def test_three_families_are_enough_and_each_part_gets_one(names):
    assert {clip.part for clip in plan(names, seed=0, count=10)} == {"train", "validation", "test"}


def test_fewer_voices_are_refused():
    with pytest.raises(SpeakerError, match=r"at least 3 unlike voices, got .*'klatt2'"):
        plan(["klatt", "klatt2", "m1"], seed=0, count=1)


def test_voices_that_sound_the_same_count_once(speaker):
    assert spoken_words.variants() == sorted(set(VARIANTS) - {"Max"})


# --- clips ----------------------------------------------------------------------------------------


def test_a_clip_is_the_word_somewhere_in_a_silent_second(speaker, tmp_path):
    starts = set()
    for clip in plan(["f1", "m1", "Andy"], seed=1, count=2)[:6]:
        sound = render(clip, tmp_path)
        assert sound.shape == (16_000,) and sound.dtype == np.int16
        (loud,) = np.nonzero(np.abs(sound.astype(int)) > 500)
        assert 0.2 * 16_000 < loud[-1] - loud[0] < 0.55 * 16_000
        starts.add(loud[0])
        np.testing.assert_array_equal(render(clip, tmp_path), sound)
    assert len(starts) == 6


def test_resampling_keeps_the_tone(speaker, tmp_path):
    clip = plan(["f1", "m1", "Andy"], seed=1, count=1)[0]
    spoken = spoken_words.speak(
        clip.word, f"{clip.accent}+{clip.variant}", pitch=50, speed=150, folder=tmp_path
    )
    peaks = [
        np.abs(np.fft.rfft(sound)).argmax() * rate / len(sound)
        for sound, rate in ((spoken, 22_050), (render(clip, tmp_path), 16_000))
    ]
    assert peaks[0] == pytest.approx(peaks[1], abs=4)


def test_a_word_that_takes_too_long_is_spoken_faster(speaker, tmp_path):
    slow = next(c for c in plan(["Zoe", "b1b", "cc"], seed=0, count=10) if c.variant == "Zoe")
    (loud,) = np.nonzero(render(slow, tmp_path))
    assert 0.7 * 16_000 < loud[-1] - loud[0] + 1 <= 16_000


@pytest.mark.parametrize("workers", [1, 2])
def test_the_files_are_those_of_speech_commands(speaker, tmp_path, monkeypatch, workers):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(spoken_words, "WORDS", ("yes", "no"))
    folder = tmp_path / "words"
    folder.mkdir()
    write_spoken_words(folder, seed=0, count=10, workers=workers)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["no", "testing_list.txt", "validation_list.txt", "yes"]
    for word in ("no", "yes"):
        assert len(list((folder / word).glob("*.wav"))) == 10
        for path in (folder / word).iterdir():
            rate, sound = wav.read(path)
            assert (rate, len(sound)) == (16_000, 16_000)
    for word in set(WORDS) - {"no", "yes"}:
        shutil.copytree(folder / "yes", folder / word)  # the reader wants all 35
    train, test, validation = read_speech_commands(folder)
    assert (len(train), len(test), len(validation)) == (16 + 33 * 10, 2, 2)


# --- trouble --------------------------------------------------------------------------------------


def test_without_the_program_it_is_said_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SpeakerError, match="not installed: apt-get install espeak-ng"):
        write_spoken_words(tmp_path, seed=0)


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ("sys.exit('no voice')", r"espeak-ng -v en-us\+Andy .* failed, and said: no voice"),
        ("sys.exit(0)", r"-v en-us\+Andy wrote no sound for 'seven'"),
        ("open(path, 'w').write('RIFF'); sys.exit(0)", "wrote no sound for 'seven'"),
        ("math.sin = lambda x: 0", "said 'seven' at 22050 Hz, loudness 0.000"),
    ],
)
def test_a_program_that_fails_is_quoted(speaker, tmp_path, trouble, message):
    speaker(trouble)
    with pytest.raises(SpeakerError, match=message):
        write_spoken_words(tmp_path, seed=0)


# --- the program itself ---------------------------------------------------------------------------


@pytest.mark.needs("espeak-ng", get="apt-get install espeak-ng")
def test_espeak_speaks_every_word_in_unlike_voices(tmp_path):
    names = spoken_words.variants()
    assert len(names) > 50
    sounds = {}
    for clip in plan(names, seed=0, count=3):
        sound = render(clip, tmp_path)
        (loud,) = np.nonzero(np.abs(sound.astype(int)) > 300)
        assert 0.1 * 16_000 < loud[-1] - loud[0] < 16_000
        sounds[sound.tobytes()] = clip
    assert len(sounds) == 3 * len(WORDS)
