"""The networks of the measurements, written once: oarlock.nn takes torch.nn's names. nn is either."""

import zlib


def lenet(nn):
    return nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                         nn.MaxPool2d(2, 2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
                         nn.Linear(84, 10))


def block(nn, inside, out, stride):
    """He et al. 2016: two convolutions and a way past them."""
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(inside, out, 3, stride=stride, padding=1, **no_bias(nn))
            self.bn1 = nn.BatchNorm2d(out)
            self.conv2 = nn.Conv2d(out, out, 3, padding=1, **no_bias(nn))
            self.bn2 = nn.BatchNorm2d(out)
            self.relu = nn.ReLU()
            self.downsample = None
            if stride != 1 or inside != out:
                self.downsample = nn.Sequential(nn.Conv2d(inside, out, 1, stride=stride, **no_bias(nn)), nn.BatchNorm2d(out))

        def forward(self, x):
            y = self.relu(self.bn1(self.conv1(x)))
            y = self.bn2(self.conv2(y))
            return self.relu(y + (x if self.downsample is None else self.downsample(x)))
    return Block()


def no_bias(nn):
    return {"bias": False} if nn.__name__.startswith("torch") else {"bias_attr": False}


def residual(nn, channels, stem, stages):
    blocks, inside = [], stem
    for out, stride, count in stages:
        for i in range(count):
            blocks.append(block(nn, inside, out, stride if i == 0 else 1))
            inside = out
    return nn.Sequential(nn.Conv2d(channels, stem, 3, padding=1, **no_bias(nn)), nn.BatchNorm2d(stem), nn.ReLU(), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, 10))


def resnet18(nn):
    return residual(nn, 3, 64, [(64, 1, 2), (128, 2, 2), (256, 2, 2), (512, 2, 2)])


def demo(nn):
    """examples/02_train_cnn.cc."""
    return residual(nn, 1, 16, [(32, 2, 1), (64, 2, 1)])


WORDS, WIDTH, TOKENS = 8192, 512, 128


def bert(nn, dropout=0.0):
    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(TOKENS, WIDTH)
            own = {"batch_first": True} if nn.__name__.startswith("torch") else {}
            layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, dropout=dropout, activation="gelu", **own)
            self.blocks = nn.TransformerEncoder(layer, 4)
            self.out = nn.Linear(WIDTH, WORDS)

        def forward(self, x):
            places = self.places.weight  # every place is there, in order
            return self.out(self.blocks(self.words(x) + places)).reshape((-1, WORDS))
    return Bert()


def bert_dropout(nn):
    return bert(nn, 0.1)


def resnet50(nn):
    """He et al. 2016, Deep residual learning for image recognition, with the stride in the 3 x 3 convolution."""
    class Bottleneck(nn.Module):
        def __init__(self, inside, middle, stride):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(inside, middle, 1, **no_bias(nn)), nn.BatchNorm2d(middle)
            self.conv2 = nn.Conv2d(middle, middle, 3, stride=stride, padding=1, **no_bias(nn))
            self.bn2 = nn.BatchNorm2d(middle)
            self.conv3, self.bn3 = nn.Conv2d(middle, 4 * middle, 1, **no_bias(nn)), nn.BatchNorm2d(4 * middle)
            self.relu, self.downsample = nn.ReLU(), None
            if stride != 1 or inside != 4 * middle:
                self.downsample = nn.Sequential(nn.Conv2d(inside, 4 * middle, 1, stride=stride, **no_bias(nn)),
                                                nn.BatchNorm2d(4 * middle))

        def forward(self, x):
            y = self.relu(self.bn1(self.conv1(x)))
            y = self.bn3(self.conv3(self.relu(self.bn2(self.conv2(y)))))
            return self.relu(y + (x if self.downsample is None else self.downsample(x)))

    blocks, inside = [], 64
    for middle, stride, count in ((64, 1, 3), (128, 2, 4), (256, 2, 6), (512, 2, 3)):
        for i in range(count):
            blocks.append(Bottleneck(inside, middle, stride if i == 0 else 1))
            inside = 4 * middle
    return nn.Sequential(nn.Conv2d(3, 64, 7, stride=2, padding=3, **no_bias(nn)), nn.BatchNorm2d(64), nn.ReLU(),
                         nn.MaxPool2d(3, 2, 1), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


def mobilenet_v2(nn):
    """Sandler et al. 2018, MobileNetV2: inverted residuals and linear bottlenecks."""
    def unit(inside, out, kernel, stride, groups):
        return [nn.Conv2d(inside, out, kernel, stride=stride, padding=kernel // 2, groups=groups, **no_bias(nn)),
                nn.BatchNorm2d(out), nn.ReLU6()]

    class Inverted(nn.Module):
        def __init__(self, inside, out, stride, expand):
            super().__init__()
            hidden = inside * expand
            layers = unit(inside, hidden, 1, 1, 1) if expand != 1 else []
            layers += unit(hidden, hidden, 3, stride, hidden)
            layers += [nn.Conv2d(hidden, out, 1, **no_bias(nn)), nn.BatchNorm2d(out)]
            self.layers, self.past = nn.Sequential(*layers), stride == 1 and inside == out

        def forward(self, x):
            return x + self.layers(x) if self.past else self.layers(x)

    blocks, inside = [], 32
    for expand, out, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
                                       (6, 320, 1, 1)):
        for i in range(count):
            blocks.append(Inverted(inside, out, stride if i == 0 else 1, expand))
            inside = out
    return nn.Sequential(*unit(3, 32, 3, 2, 1), *blocks, *unit(320, 1280, 1, 1, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(1280, 1000))


def encoder(nn, words, width, heads, layers, tokens):
    """Devlin et al. 2018, BERT: the embeddings and the encoder."""
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(tokens, width)
            own = {"batch_first": True} if nn.__name__.startswith("torch") else {}
            layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, activation="gelu", **own)
            self.norm, self.blocks = nn.LayerNorm(width), nn.TransformerEncoder(layer, layers)

        def forward(self, x):
            return self.blocks(self.norm(self.words(x) + self.places.weight))
    return Encoder()


def chain(nn, count):
    """count tiny ops, one after another."""
    class Chain(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Linear(16, 1)

        def forward(self, x):
            w = self.scale.weight
            for i in range(count // 2):
                x = (x * w).tanh() if i % 8 == 7 else (x + w) * w
            return x
    return Chain()


def initial(name, shape):
    """Weights of both sides: by name, so that their order is free."""
    import numpy as np
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if len(shape) == 1:
        return None  # both begin with 1 and 0
    fan_in = int(np.prod(shape[1:])) if "words" not in name and "places" not in name else WIDTH
    return (rng.standard_normal(shape) * (2 / fan_in) ** 0.5 * 0.7).astype(np.float32)
