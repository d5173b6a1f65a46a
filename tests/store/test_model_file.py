import io
import json
import math
import os
import pickle
import re
import signal
import stat
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import gramian
from gramian.errors import FileError, InputTypeError, ModelFileError, ParameterError
from gramian.store import model_file
from gramian.store.model_file import FORMAT_VERSION, read_model, write_model
from refusals import refused

HEADER = {"n_components": 2, "tol": None, "kernel": {"name": "rbf", "gamma": 0.1}, "names": ["a"]}
ARRAYS = {
    "components": np.arange(6.0).reshape(2, 3),
    "mean": np.array([1.5, -0.0, 3e-320], dtype=np.float32),
    "landmarks": np.arange(5, dtype=np.int32),
}


@pytest.fixture
def path(tmp_path):
    write_model(tmp_path / "m.gramian", "pca", HEADER, ARRAYS)
    return tmp_path / "m.gramian"


def description(path: Path) -> str:
    raw = path.read_bytes()
    return json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]["gramian"]


def rewrite(path: Path, arrays=ARRAYS, **changes) -> None:
    """Write the file again with changed entries of its description and the right checksum."""
    entry = json.loads(description(path)) | changes
    del entry["checksum"]
    text = json.dumps(entry, sort_keys=True, separators=(",", ":"))
    sealed = f'{{"checksum":"{model_file._checksum(text, arrays)}",{text[1:]}'
    path.write_bytes(safetensors.numpy.save(arrays, metadata={"gramian": sealed}))


def test_round_trip(path):
    stored = read_model(path)
    assert stored.kind == "pca"
    assert stored.header == HEADER
    assert stored.versions["gramian"] == gramian.__version__
    assert set(stored.versions) == {"gramian", "numpy", "python", "scikit-learn"}
    assert set(stored.arrays) == set(ARRAYS)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(stored.arrays[name], array, strict=True)


def test_every_dtype_and_shape(tmp_path):
    for code in "?bhilqBHILQefd":
        for shape in [(), (0,), (0, 3), (1,), (2, 3, 4)]:
            array = np.arange(math.prod(shape)).reshape(shape).astype(code)
            write_model(tmp_path / "m", "k", {}, {"a": array})
            np.testing.assert_array_equal(read_model(tmp_path / "m").arrays["a"], array, strict=True)


def test_memory_layout_does_not_matter(tmp_path):
    for array in [
        np.arange(12.0).reshape(3, 4).T,
        np.arange(24.0).reshape(4, 6)[::2, ::-3],
        np.arange(6, dtype=">f8").reshape(2, 3),
        np.array(7, dtype=">i2"),
        np.broadcast_to(np.float32(2), (3, 2)),
    ]:
        array.flags.writeable = False
        native = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
        write_model(tmp_path / "given", "k", {}, {"a": array})
        write_model(tmp_path / "plain", "k", {}, {"a": native})
        assert (tmp_path / "given").read_bytes() == (tmp_path / "plain").read_bytes()
        np.testing.assert_array_equal(read_model(tmp_path / "given").arrays["a"], native, strict=True)


def test_same_input_gives_same_bytes(path, tmp_path):
    other = tmp_path / "other"
    turned = dict(reversed(ARRAYS.items()))
    write_model(str(other), "pca", dict(reversed(HEADER.items())), turned)
    assert other.read_bytes() == path.read_bytes()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text().filter(lambda key: not key.startswith("$")), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(value=values, array=hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, min_side=0)))
def test_any_header_and_floats_come_back(tmp_path, value, array):
    write_model(tmp_path / "m", "k", {"value": value}, {"a": array})
    stored = read_model(tmp_path / "m")
    # repr and not ==, because NaN differs from itself and -0.0 equals 0.0.
    assert repr(in_order(stored.header["value"])) == repr(in_order(value))
    assert stored.arrays["a"].tobytes() == array.tobytes()


def in_order(value):
    if isinstance(value, list):
        return [in_order(item) for item in value]
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return value


def test_numpy_scalars_and_tuples_become_plain_values(tmp_path):
    header = {"a": (np.int64(3), np.float32(0.5), np.bool_(True), np.str_("x")), "b": 2**53 + 1}
    write_model(tmp_path / "m", "k", header, {})
    assert read_model(tmp_path / "m").header == {"a": [3, 0.5, True, "x"], "b": 2**53 + 1}


def test_description_is_strict_json(tmp_path):
    write_model(tmp_path / "m", "k", {"a": math.nan, "b": -math.inf, "c": 2**60}, {})

    def refuse(name):
        raise AssertionError(name)

    header = json.loads(description(tmp_path / "m"), parse_constant=refuse)["header"]
    assert header["a"] == {"$float": "nan"}
    assert header["b"] == {"$float": "-inf"}
    assert header["c"] == {"$int": str(2**60)}


def test_the_documented_reader_reads_it(path):
    page = Path(__file__).parents[2] / "docs" / "format.md"
    source = re.search(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    namespace = {}
    exec(source[1], namespace)
    entry, arrays = namespace["read"](path)
    assert (entry["kind"], entry["header"]) == ("pca", HEADER)
    assert arrays["components"] == ("F64", [2, 3], ARRAYS["components"].tobytes())


def test_what_cannot_be_kept_is_refused_before_writing(tmp_path):
    for header, arrays, error in [
        ({"a": {1, 2}}, {}, InputTypeError),
        ({"a": [0, b"x"]}, {}, InputTypeError),
        ({"a": np.zeros(2)}, {}, InputTypeError),
        ({"a": 1j}, {}, InputTypeError),
        ({3: 1}, {}, ParameterError),
        ({"a": {"$int": 1}}, {}, ParameterError),
        ({}, {"a": np.zeros(2, complex)}, InputTypeError),
        ({}, {"a": np.array(["x"])}, InputTypeError),
        ({}, {"a": np.array([None])}, InputTypeError),
        ({}, {"a": np.zeros(2, "f,f")}, InputTypeError),
    ]:
        with refused(error):
            write_model(tmp_path / "m", "k", header, arrays)
        assert list(tmp_path.iterdir()) == []


def test_missing_file(tmp_path):
    with refused(FileError):
        read_model(tmp_path / "nowhere")


def test_a_name_that_is_too_long(tmp_path):
    with pytest.raises(FileError, match=r"cannot be read: the name is too long"):
        read_model(tmp_path / (300 * "x"))


@pytest.mark.skipif(os.name != "posix", reason="about POSIX permissions")
def test_a_private_model_is_for_its_owner_only(tmp_path):
    for private, others in ((False, 0o044), (True, 0)):
        target = tmp_path / f"{private}.gramian"
        mask = os.umask(0o022)
        try:
            write_model(target, "pca", {}, ARRAYS, private=private)
        finally:
            os.umask(mask)
        assert stat.S_IMODE(target.stat().st_mode) == 0o600 | others


def test_folder(tmp_path):
    with refused(FileError):
        read_model(tmp_path)


def test_unreadable_file(path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with refused(FileError):
        read_model(path)


def test_empty_file(tmp_path):
    (tmp_path / "m").touch()
    with refused(ModelFileError):
        read_model(tmp_path / "m")


def test_cut_anywhere(path):
    whole = path.read_bytes()
    for size in range(1, len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFileError, match=r"is damaged: .*(ends after|cut short)"):
            read_model(path)


def test_any_altered_byte(path):
    whole = path.read_bytes()
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 0x01
        path.write_bytes(changed)
        try:
            stored = read_model(path)
        except ModelFileError:
            continue
        # Only the padding of the outer header may change without changing what is read.
        assert stored.header == HEADER
        assert changed[position : position + 1].isspace() or whole[position : position + 1] == b" "


def test_altered_values_and_parameters(path):
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 0xFF]))
    with refused(ModelFileError):
        read_model(path)
    path.write_bytes(whole.replace(b'\\"n_components\\":2', b'\\"n_components\\":3'))
    with refused(ModelFileError):
        read_model(path)


def test_appended_bytes(path):
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(ModelFileError, match="cut short or displaced"):
        read_model(path)


def npz() -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, a=np.zeros(2))
    return buffer.getvalue()


def test_foreign_files(tmp_path):
    for content in [
        b"\x89PNG\r\n\x1a\n" + bytes(20),
        npz(),
        pickle.dumps({"a": 1}),
        zlib.compress(b"joblib"),
        b"a,b\n1,2\n3,4\n",
        b'{"mean": [1.0, 2.0]}',
        safetensors.numpy.save({"a": np.zeros(2)}),
        safetensors.numpy.save({"a": np.zeros(2)}, metadata={"format": "pt"}),
    ]:
        (tmp_path / "m").write_bytes(content)
        with refused(ModelFileError):
            read_model(tmp_path / "m")


def test_nothing_is_executed(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "exploded",))

    (tmp_path / "m").write_bytes(pickle.dumps(Bomb()))
    with refused(ModelFileError):
        read_model(tmp_path / "m")
    assert not (tmp_path / "exploded").exists()


def test_newer_format(path):
    rewrite(path, format_version=FORMAT_VERSION + 1, versions={"gramian": "9.1"})
    message = (
        rf"written by gramian 9\.1, format {FORMAT_VERSION + 1}; this gramian .* reads up to "
        rf"format {FORMAT_VERSION}: upgrade with pip install -U gramian"
    )
    with pytest.raises(ModelFileError, match=message):
        read_model(path)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "other"},
        {"format_version": "1"},
        {"format_version": 0},
        {"kind": None},
        {"header": []},
        {"versions": 3},
        {"header": {"a": {"$int": "x"}}},
        {"header": {"a": {"$float": []}}},
        {"header": {"a": math.nan}},
    ],
)
def test_malformed_description(path, changes):
    rewrite(path, **changes)
    with refused(ModelFileError):
        read_model(path)


def outer(header: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header


def test_malformed_header(tmp_path):
    for header in [
        b"{not json}",
        b"{\xff}",
        # How deep a value may be is a limit of Python's parser.
        b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
        b'{"__metadata__": 3}',
        b'{"__metadata__": {"gramian": 3}}',
        b'{"__metadata__": {"gramian": "{"}}',
        b'{"__metadata__": {"gramian": "[]"}}',
    ]:
        (tmp_path / "m").write_bytes(outer(header))
        with refused(ModelFileError):
            read_model(tmp_path / "m")


def test_unknown_dtype(path):
    for code in ["BF16", "F8_E4M3", "Q7", 3]:
        entry = {"__metadata__": {"gramian": description(path)}}
        entry["a"] = {"dtype": code, "shape": [0], "data_offsets": [0, 0]}
        path.write_bytes(outer(json.dumps(entry).encode()))
        with pytest.raises(ModelFileError, match="its arrays are cut short or displaced"):
            read_model(path)


def test_failure_while_writing_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()

    def stop(_):
        raise KeyboardInterrupt("midway")

    monkeypatch.setattr("os.fsync", stop)
    with pytest.raises(KeyboardInterrupt, match="midway"):
        write_model(path, "pca", {}, {})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="about POSIX signals")
def test_a_killed_writer_leaves_a_readable_file(path):
    program = (
        "import sys\n"
        "import numpy as np\n"
        "from gramian.store.model_file import write_model\n"
        "print('writing', flush=True)\n"
        "while True:\n"
        "    write_model(sys.argv[1], 'pca', {}, {'a': np.zeros(200_000)})\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(signal.SIGKILL)
    assert read_model(path).kind == "pca"
