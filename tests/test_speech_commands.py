"""Speech Commands: both layouts, the lists, padding, both scalings, and bad files named."""

import numpy as np
import pytest
import torch
from true_formats import WORDS, wav, write, write_speech

from eigenstate.data.decimation import Decimated
from eigenstate.data.speech_commands import SPEECH_COMMANDS, read_speech_commands

pytestmark = pytest.mark.usefixtures("cache")


def everything(part):
    return part.collate([part[i] for i in range(len(part))])


def sounds_of(sounds, number):
    """The recordings of one number in the order of the published labels, padded: (35, 16000)."""
    padded = np.zeros((35, 16_000))
    for label, word in enumerate(SPEECH_COMMANDS.class_names):
        sound = sounds[f"{word}/{number:08x}_nohash_0.wav"]
        padded[label, : len(sound)] = sound
    return padded


@pytest.mark.parametrize("layout", ["SpeechCommands", "SpeechCommands/speech_commands_v0.02"])
def test_recordings_are_divided_padded_and_standardised(tmp_path, layout):
    sounds = write_speech(tmp_path / "data" / layout)
    splits = read_speech_commands(tmp_path / "data")
    assert sorted(SPEECH_COMMANDS.class_names) == WORDS
    learnt = np.stack([sounds_of(sounds, 0), sounds_of(sounds, 1)]) / 2**15
    for part, number in ((splits.validation, 2), (splits.test, 3)):
        u, lengths, labels, dt = everything(part)
        truth = (sounds_of(sounds, number) / 2**15 - learnt.mean()) / learnt.std()
        np.testing.assert_allclose(u[..., 0], truth, rtol=1e-4, atol=1e-5)
        assert u.dtype == torch.float32 and u.shape == (35, 16_000, 1) and dt is None
        assert lengths.tolist() == [16_000] * 35 and labels.tolist() == list(range(35))
    u = everything(splits.train).u.double()
    assert u.shape == (70, 16_000, 1)
    assert abs(u.mean()) < 1e-5 and abs(u.std() - 1) < 1e-3


def test_published_scaling_is_that_of_the_published_arithmetic(tmp_path):
    sounds = write_speech(tmp_path)
    splits = read_speech_commands(tmp_path, published_scaling=True)
    train = np.stack([sounds_of(sounds, 0), sounds_of(sounds, 1)]).reshape(70, 16_000)
    x = torch.from_numpy(train / 2**15 / 2**15)
    held = torch.from_numpy(sounds_of(sounds, 3) / 2**15 / 2**15)
    truth = (held - x.mean(0)) / (x.std(0) + 1e-5)
    np.testing.assert_allclose(everything(splits.test).u[..., 0], truth, rtol=1e-4, atol=1e-5)


def test_decimation_keeps_every_second_sample(tmp_path):
    write_speech(tmp_path)
    for published in (False, True):
        test = read_speech_commands(tmp_path, published_scaling=published).test
        assert torch.equal(everything(Decimated(test, 2)).u, everything(test).u[:, ::2])


def test_the_sound_is_read_by_memory_map(tmp_path):
    write_speech(tmp_path)
    part = read_speech_commands(tmp_path).train
    assert isinstance(part._values, np.memmap) and part._values.dtype == np.int16


CLIP = "bed/00000000_nohash_0.wav"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file has 0 bytes"),
        (wav(np.ones(50))[:-1], "not a whole wav file: Reached EOF prematurely"),
        (wav(np.ones(50))[:30], "not a whole wav file"),
        (b"RIFF", "not a whole wav file"),
        (wav(np.ones(50), rate=8000), "expected 16,000 samples a second, got 8,000; resample"),
        (wav(np.ones(50), channels=2), "expected one channel, got 2"),
        (wav(np.ones(16_001)), "expected at most 16,000 samples, one second, got 16,001"),
        (wav([]), "the recording holds no samples"),
    ],
)
def test_a_bad_recording_is_named(tmp_path, data, message):
    write_speech(tmp_path / "data")
    write(tmp_path / "data" / CLIP, data)
    with pytest.raises(ValueError, match=f"{CLIP}: {message}"):
        read_speech_commands(tmp_path / "data")
    assert not list((tmp_path / "cache").rglob("*.npy"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "testing_list.txt: the list is empty"),
        (
            f"{CLIP}\nbed/gone.wav\n",
            "line 2: names 'bed/gone.wav', which is no recording of the 35",
        ),
        ("_background_noise_/pink_noise.wav\n", "line 1: names '_background_noise_/pink"),
        ("bed/00000002_nohash_0.wav\n", "line 1: bed/00000002_nohash_0.wav is in both lists"),
        (
            "".join(f"bed/{i:08x}_nohash_0.wav\n" for i in (0, 1, 3)),
            "nothing is left to learn bed from",
        ),
    ],
)
def test_a_bad_list_is_named(tmp_path, text, message):
    write_speech(tmp_path)
    write(tmp_path / "testing_list.txt", text)
    with pytest.raises(ValueError, match=message):
        read_speech_commands(tmp_path)


def test_what_is_missing_is_named(tmp_path):
    write_speech(tmp_path)
    (tmp_path / "testing_list.txt").unlink()
    with pytest.raises(FileNotFoundError, match=r"which lacks testing_list\.txt"):
        read_speech_commands(tmp_path)
    write_speech(tmp_path / "old", [word for word in WORDS if word not in ("learn", "visual")])
    with pytest.raises(
        FileNotFoundError, match=r"found none for visual, learn; is this version 0.02"
    ):
        read_speech_commands(tmp_path / "old")


def test_silence_cannot_be_standardised(tmp_path):
    for name in write_speech(tmp_path):
        write(tmp_path / name, wav(np.zeros(10)))
    with pytest.raises(ValueError, match="the training recordings are silent"):
        read_speech_commands(tmp_path)
