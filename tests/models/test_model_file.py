"""The file of a model: values come back as they were, and what is not as it was written is refused."""

import json
import math
import os
import pickle
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from scipy import sparse

import gramian
from damaged import reseal
from gramian.core.records import Moments, Repair
from gramian.errors import FileError, InputTypeError, ModelFileError, ParameterError
from gramian.kernels import kernel_from_name
from gramian.models.model_file import BEGINNING, FORMAT_VERSION, decode, read_model, sealed, write_model

# Any record is a file: here one whose field is whatever a test gives it.
VALUES = {
    "none": None,
    "flag": True,
    "number": 0.1,
    "large": 2**70,
    "infinite": -math.inf,
    "text": "rbf \udc80",
    "tuple": (1, ("a", 2.5)),
    "slice": slice(1, None, 2),
    "map": {"a": 1, "b": (2,)},
    "record": Repair(1, 10, -0.5, 0.5, 3.0, 0.1),
    "kernel": kernel_from_name("(rbf(sigma=(1, 2)) + 0.5 * linear.on(0)) ** 2"),
}


def holding(value):
    return Moments(0.0, value, None)


def written(path, value):
    write_model(path, holding(value))
    stored = read_model(path)
    return decode(stored.content, stored.arrays).mean


@pytest.fixture
def path(tmp_path):
    write_model(tmp_path / "m.gramian", holding(np.arange(6.0).reshape(2, 3)))
    return tmp_path / "m.gramian"


def description(path):
    raw = path.read_bytes()
    return json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]["gramian"]


def test_every_kind_of_value_dtype_shape_and_layout_comes_back(tmp_path):
    assert written(tmp_path / "m", VALUES) == VALUES
    scalars = (np.int64(3), np.float32(0.5), np.bool_(True), np.str_("x"), np.random.default_rng(0))
    assert written(tmp_path / "m", scalars) == (3, 0.5, True, "x", None)
    assert math.isnan(written(tmp_path / "m", math.nan))
    names = written(tmp_path / "m", np.array(["a", "µ"], dtype=object))
    assert (names.dtype, names.tolist()) == (np.dtype(object), ["a", "µ"])
    rows = sparse.csr_array(np.eye(3))
    assert (written(tmp_path / "m", rows) != rows).nnz == 0
    assert set(read_model(tmp_path / "m").versions) == {"gramian", "numpy", "python", "scikit-learn"}
    for code in "?bhilqBHILQefd":
        for shape in [(), (0,), (0, 3), (1,), (2, 3, 4)]:
            array = np.arange(math.prod(shape)).reshape(shape).astype(code)
            assert_array_equal(written(tmp_path / "m", array), array, strict=True)
    for array in [
        np.arange(24.0).reshape(4, 6)[::2, ::-3].T,
        np.arange(6, dtype=">f8").reshape(2, 3),
        np.broadcast_to(np.float32(2), (3, 2)),
    ]:
        array.flags.writeable = False
        native = np.array(array, dtype=array.dtype.newbyteorder("="), order="C")
        assert_array_equal(written(tmp_path / "given", array), native, strict=True)
        written(tmp_path / "plain", native)
        assert (tmp_path / "given").read_bytes() == (tmp_path / "plain").read_bytes()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text().filter("$".__ne__), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(value=values, array=hnp.arrays(np.float64, hnp.array_shapes(min_dims=0, min_side=0)))
def test_any_value_and_floats_come_back(tmp_path, value, array):
    back, again = written(tmp_path / "m", (value, array))
    assert back == value
    assert again.tobytes() == array.tobytes()


def test_the_documented_reader_reads_it(path):
    page = Path(__file__).parents[2] / "docs" / "format.md"
    source = re.search(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    namespace = {}
    exec(source[1], namespace)
    entry, arrays = namespace["read"](path)
    assert entry["content"]["mean"] == {"$": "array", "value": "mean"}
    assert arrays["mean"] == ("F64", [2, 3], np.arange(6.0).tobytes())

    def no_constant(name):
        raise AssertionError(name)

    write_model(path, holding([math.nan, math.inf]))
    entry = json.loads(description(path), parse_constant=no_constant)
    assert entry["content"]["mean"] == [{"$": "float", "value": "nan"}, {"$": "float", "value": "inf"}]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (1j, InputTypeError),
        (np.zeros(2, complex), InputTypeError),
        (np.array(["x"]), InputTypeError),
        (np.zeros(2, "f,f"), InputTypeError),
        (len, ParameterError),
        (lambda x: x, ParameterError),
        (np.sin, ParameterError),
        (gramian.kernels.FunctionKernel(np.dot), ParameterError),
    ],
)
def test_what_cannot_be_kept_is_refused_before_writing(value, error, tmp_path):
    with pytest.raises(error, match=r"cannot (keep|be saved)"):
        write_model(tmp_path / "m", holding(value))
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there_or_cannot_be_read(tmp_path, path, monkeypatch):
    for target, match in [
        (tmp_path / "nowhere", "does not exist. Check the name"),
        (tmp_path / (300 * "x"), "cannot be read: the name is too long"),
        (tmp_path, "is not a file"),
    ]:
        with pytest.raises(FileError, match=match):
            read_model(target)

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(FileError, match=r"cannot be read: .*Check its name and permissions"):
        read_model(path)


@pytest.mark.skipif(os.name != "posix", reason="about POSIX permissions")
def test_a_private_model_is_for_its_owner_only(tmp_path):
    for private, others in ((False, 0o044), (True, 0)):
        target = tmp_path / f"{private}.gramian"
        mask = os.umask(0o022)
        try:
            write_model(target, holding(None), private=private)
        finally:
            os.umask(mask)
        assert stat.S_IMODE(target.stat().st_mode) == 0o600 | others


def outer(header: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header


class Bomb:
    def __reduce__(self):
        return (Path.touch, (Path("exploded"),))


FOREIGN = {
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "a pickle": pickle.dumps(Bomb()),
    "text": b"a,b\n1,2\n3,4\n",
    "another safetensors file": safetensors.numpy.save({"a": np.zeros(2)}, metadata={"format": "pt"}),
    "nothing": b"",
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_files_are_not_opened(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m").write_bytes(FOREIGN[name])
    with pytest.raises(ModelFileError, match=r"not a model or gallery saved by gramian.*Name another file"):
        read_model("m")
    assert os.listdir() == ["m"]


def test_other_formats_and_altered_files_are_refused(path):
    for number, advice in ((FORMAT_VERSION + 1, "pip install -U gramian"), (1, "Fit the model again")):
        reseal(path, format_version=number, versions={"gramian": "9.1"})
        match = rf"has format {number}, written by gramian 9\.1, .*reads format {FORMAT_VERSION}.*{advice}"
        with pytest.raises(ModelFileError, match=match):
            read_model(path)
        write_model(path, holding(None))
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(ModelFileError, match="is damaged"):
            read_model(path)
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(ModelFileError, match=r"is damaged|has format 2"):
            read_model(path)
    path.write_bytes(whole + b"more")
    with pytest.raises(ModelFileError, match="is damaged"):
        read_model(path)


MALFORMED = {
    "no content": {"content": None},
    "no class": {"content": {}},
    "a class of another kind": {"content": {"$": 3}},
    "no versions": {"versions": 3},
    "no number of the format": {"format_version": "2"},
}


def test_malformed_descriptions_headers_and_dtypes(path):
    intact = {"content": {"$": "Moments"}, "format_version": FORMAT_VERSION, "versions": {"gramian": "1"}}
    for wrong in MALFORMED.values():
        path.write_bytes(b"".join(map(bytes, sealed(intact | wrong, {}))))
        with pytest.raises(ModelFileError, match="is damaged"):
            read_model(path)
    begin = BEGINNING + 64 * b"0"
    for rest in (b"", b'"', b'\\"}"}}', b"\xff", b'\\"}"},"a":' + b'{"a":' * 20_000 + b"1" + b"}" * 20_001):
        path.write_bytes(outer(begin + rest))
        with pytest.raises(ModelFileError, match="is damaged"):
            read_model(path)
    whole = path.read_bytes()
    for code in ("BF16", "F8_E4M3", "Q7"):
        header = (
            whole[8 : 8 + int.from_bytes(whole[:8], "little")]
            .rstrip()
            .replace(b'"F64"', f'"{code}"'.encode())
        )
        path.write_bytes(outer(header) + whole[-48:])
        with pytest.raises(ModelFileError, match="is damaged"):
            read_model(path)


def test_failure_while_writing_leaves_the_old_file(path, monkeypatch):
    before = path.read_bytes()

    def stop(_):
        raise KeyboardInterrupt("midway")

    monkeypatch.setattr("os.fsync", stop)
    with pytest.raises(KeyboardInterrupt, match="midway"):
        write_model(path, holding(None))
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="about POSIX signals")
def test_a_killed_writer_leaves_a_readable_file(path):
    program = (
        "import sys\n"
        "import numpy as np\n"
        "from gramian.models.model_file import write_model\n"
        "from gramian.core.records import Moments\n"
        "print('writing', flush=True)\n"
        "while True:\n"
        "    write_model(sys.argv[1], Moments(0.0, np.zeros(200_000), None))\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(signal.SIGKILL)
    assert read_model(path).kind == "Moments"
